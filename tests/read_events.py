#!/usr/bin/env python3
"""Reads an event file of TensorBoard without any library and prints a JSON object for each event; exits with 1 if a
length, a checksum or a field is wrong. Shares no code with the writer."""
import json
import struct
import sys


def crc32c(data):
    """Castagnoli's checksum, a bit at a time."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def masked(data):
    crc = crc32c(data)
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF


def records(data):
    at = 0
    while at < len(data):
        length_bytes = data[at : at + 8]
        (length,) = struct.unpack("<Q", length_bytes)
        (length_crc,) = struct.unpack("<I", data[at + 8 : at + 12])
        assert masked(length_bytes) == length_crc, f"wrong checksum of the length at byte {at}"
        body = data[at + 12 : at + 12 + length]
        assert len(body) == length, f"truncated record at byte {at}"
        (body_crc,) = struct.unpack("<I", data[at + 12 + length : at + 16 + length])
        assert masked(body) == body_crc, f"wrong checksum of the record at byte {at}"
        yield body
        at += 16 + length


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        shift += 7
        at += 1
        if data[at - 1] < 0x80:
            return value, at


def fields(data):
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        number, kind = key >> 3, key & 7
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 1:
            (value,), at = struct.unpack("<d", data[at : at + 8]), at + 8
        elif kind == 5:
            (value,), at = struct.unpack("<f", data[at : at + 4]), at + 4
        elif kind == 2:
            length, at = varint(data, at)
            value, at = data[at : at + length], at + length
            assert len(value) == length, "truncated field"
        else:
            raise AssertionError(f"unknown wire type {kind}")
        yield number, value


def event_of(record):
    event = {"step": 0, "scalars": {}}
    for number, value in fields(record):
        if number == 1:
            event["wall_time"] = value
        elif number == 2:
            event["step"] = value
        elif number == 3:
            event["file_version"] = value.decode()
        elif number == 7:
            event["session"] = dict(fields(value))[1]
        elif number == 5:
            for _, entry in fields(value):
                scalar = dict(fields(entry))
                event["scalars"][scalar[1].decode()] = scalar[2]
        else:
            raise AssertionError(f"unexpected field {number} of an event")
    return event


if __name__ == "__main__":
    with open(sys.argv[1], "rb") as file:
        for record in records(file.read()):
            print(json.dumps(event_of(record)))
