"""From a captioner's probabilities to captions: beam search, samples, and the beam that these agree with."""
