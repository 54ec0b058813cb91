"""Reads a file of data by Python's own libraries, which none of the engines uses, and prints its keys and values in their order, one a line."""

import json
import sys
import tomllib
from xml.etree import ElementTree

import yaml


def lines(value):
    if isinstance(value, dict):
        for key, each in value.items():
            yield str(key)
            yield from lines(each)
    elif isinstance(value, list):
        for each in value:
            yield from lines(each)
    else:
        yield str(value)


def elements(element):
    yield element.tag
    yield from element.attrib.values()
    if element.text and element.text.strip():
        yield element.text
    for each in element:
        yield from elements(each)


path, syntax = sys.argv[1:]
with open(path, "rb") as file:
    if syntax == "xml":
        found = elements(ElementTree.parse(file).getroot())
    elif syntax == "toml":
        found = lines(tomllib.load(file))
    elif syntax == "yaml":
        found = lines(yaml.safe_load(file))
    elif syntax == "jsonl":
        found = lines([json.loads(line) for line in file])
    else:
        found = lines(json.load(file))
print("\n".join(found))
