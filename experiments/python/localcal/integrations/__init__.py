"""Ways to the tools of others; each is imported by its own name, and what it needs is no dependency.

probmetrics    methods as calibrators of probmetrics, which CalArena runs
ray, spark     apply and evaluate many rows on these
tracking       logs what the command wrote to MLflow and Weights & Biases
"""
