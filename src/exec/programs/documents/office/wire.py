"""JSON lines on standard output: answers, and progress on the way to them."""

import json
import sys


def say(message):
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()
