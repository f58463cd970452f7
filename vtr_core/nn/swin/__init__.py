"""Video Swin Transformer: the network, its windows, and the clips that it sees."""
