"""What tools/test, tools/proof and .ci/run have in common."""
