"""What the user is told in one line."""


class Failure(Exception):
    pass
