"""Reads a file of data by Python's own libraries, which none of the engines uses, and prints its keys and values in their order, one a line."""

import json
import sqlite3
import struct
import sys
import tomllib
import zlib
from datetime import date, datetime, timedelta
from decimal import Decimal
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


class Avro:
    """A container file of Avro (Apache Avro 1.12), of the types that tables have."""

    def __init__(self, data):
        self.data, self.at = data, 4
        head = {}
        while count := self.long():
            for _ in range(count):
                key = self.take(self.long())
                head[key] = self.take(self.long())
        self.schema, self.codec = json.loads(head[b"avro.schema"]), head[b"avro.codec"]
        sync = self.take(16)
        blocks = []
        while self.at < len(data):
            count, block = self.long(), self.take(self.long())
            assert self.take(16) == sync
            blocks.append((count, zlib.decompress(block, -15) if self.codec == b"deflate" else block))
        self.rows = []
        for count, block in blocks:
            self.data, self.at = block, 0
            self.rows += [self.value(self.schema) for _ in range(count)]
            assert self.at == len(block)

    def take(self, length):
        self.at += length
        assert self.at <= len(self.data)
        return self.data[self.at - length : self.at]

    def long(self):
        value = shift = 0
        while True:
            byte = self.take(1)[0]
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return (value >> 1) ^ -(value & 1)

    def value(self, schema):
        if isinstance(schema, list):
            return self.value(schema[self.long()])
        name = schema["type"] if isinstance(schema, dict) else schema
        logical = schema.get("logicalType") if isinstance(schema, dict) else None
        if name == "record":
            return {field["name"]: self.value(field["type"]) for field in schema["fields"]}
        if name in ("array", "map"):
            found = []
            while count := self.long():
                found += [(self.take(self.long()).decode(), self.value(schema["values"])) if name == "map" else self.value(schema["items"]) for _ in range(count)]
            return dict(found) if name == "map" else found
        if name == "null":
            return None
        if name == "boolean":
            return self.take(1) == b"\x01"
        if name in ("int", "long"):
            value = self.long()
            if logical == "date":
                return str(date(1970, 1, 1) + timedelta(days=value))
            if logical and logical.endswith("timestamp-micros"):
                return str(datetime(1970, 1, 1) + timedelta(microseconds=value)) + ("" if logical.startswith("local") else "Z")
            return value
        if name in ("float", "double"):
            return struct.unpack("<f" if name == "float" else "<d", self.take(4 if name == "float" else 8))[0]
        data = self.take(schema["size"] if name == "fixed" else self.long())
        if logical == "decimal":
            return str(Decimal(int.from_bytes(data, "big", signed=True)).scaleb(-schema["scale"]))
        return data.decode() if name == "string" else data.hex()


def tables(path):
    database = sqlite3.connect(path)
    assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    for (name,) in database.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY rootpage").fetchall():
        found = database.execute(f'SELECT * FROM "{name}"')
        names = [column[0] for column in found.description]
        yield from (dict(zip(names, row, strict=True)) for row in found)


path, syntax = sys.argv[1:]
with open(path, "rb") as file:
    if syntax == "xml":
        found = elements(ElementTree.parse(file).getroot())
    elif syntax == "toml":
        found = lines(tomllib.load(file))
    elif syntax == "yaml":
        found = lines(yaml.safe_load(file))
    elif syntax == "avro":
        found = lines(Avro(file.read()).rows)
    elif syntax == "sqlite":
        found = lines(list(tables(path)))
    elif syntax == "jsonl":
        found = lines([json.loads(line) for line in file])
    else:
        found = lines(json.load(file))
print("\n".join(found))
