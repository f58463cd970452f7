"""From a captioner's probabilities to captions: beam search, random captions, and the beam that these agree with."""
