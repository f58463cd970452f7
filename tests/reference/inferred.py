"""infAP as NIST's evaluation walks a ranking: one topic, plain dictionaries."""


def inferred_average_precision(ranking, qrels, max_results=1000):
    """`qrels`: {id: (stratum, 1 relevant, 0 not, -1 not judged)}."""
    strata = sorted({stratum for stratum, _ in qrels.values()})
    size = {s: sum(stratum == s for stratum, _ in qrels.values()) for s in strata}
    judged = {s: sum(stratum == s and value >= 0 for stratum, value in qrels.values()) for s in strata}
    relevant = {s: sum(stratum == s and value > 0 for stratum, value in qrels.values()) for s in strata}
    estimate = {s: relevant[s] * size[s] / judged[s] if judged[s] else 0.0 for s in strata}
    total = sum(estimate.values())
    if total == 0:
        return 0.0
    passed, passed_judged, passed_relevant = (
        dict.fromkeys(strata, 0),
        dict.fromkeys(strata, 0),
        dict.fromkeys(strata, 0),
    )
    precision_sum = dict.fromkeys(strata, 0.0)
    for index in range(min(len(ranking), max_results)):
        rank = index + 1
        if ranking[index] not in qrels:
            continue
        stratum, value = qrels[ranking[index]]
        depth = sum(passed.values())
        if value > 0:
            above = 0.0
            for s in strata:
                if depth and passed[s]:
                    share = passed[s] / depth
                    above += share * (passed_relevant[s] + 0.00001) / (passed_judged[s] + 0.00003)
            precision_sum[stratum] += 1 / rank + depth / rank * above
            passed_relevant[stratum] += 1
        passed[stratum] += 1
        passed_judged[stratum] += value >= 0
    result = 0.0
    for s in strata:
        if relevant[s]:
            result += estimate[s] / total * precision_sum[s] / relevant[s]
    return result * total / max_results if total > max_results else result
