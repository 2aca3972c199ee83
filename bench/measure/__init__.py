"""What bench/compare, bench/growth and bench/peers/run.py are made of."""
