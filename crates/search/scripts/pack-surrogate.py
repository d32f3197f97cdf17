#!/usr/bin/env python3
"""Packs a tuning surrogate (a forest of regression trees, gzipped JSON) into data/sysbench-20knob.{json,bin}.

Usage: pack-surrogate.py SURROGATE.json.gz OUT_STEM

OUT_STEM.json holds the knobs. OUT_STEM.bin holds the trees in preorder, little-endian: a u16 count of trees, then per
feature a u16 count and that many f32 thresholds in rising order, then the nodes of all trees: u8 feature and u16 index
into that feature's thresholds, or u8 255 and u16 value for a leaf, in units of 1/64 of the objective (its largest
value is below 1024). The right child of a node follows its left subtree, so no links are stored.
"""
import gzip
import json
import struct
import sys


def main():
    source, stem = sys.argv[1:3]
    data = json.load(gzip.open(source, "rt"))
    thresholds = [set() for _ in data["knobs"]]
    for tree in data["trees"]:
        for feature, threshold, left in zip(tree["feature"], tree["threshold"], tree["left"]):
            if left != -1:
                # The trees compare float32(x) <= threshold: the largest f32 not above the threshold decides the same.
                f = struct.unpack("<f", struct.pack("<f", threshold))[0]
                if f > threshold:
                    bits = struct.unpack("<i", struct.pack("<f", f))[0]
                    f = struct.unpack("<f", struct.pack("<i", bits - 1 if f > 0 else bits + 1))[0]
                thresholds[feature].add((f, threshold))
    tables = [sorted({f for f, _ in t}) for t in thresholds]
    index = [{t: table.index(f) for f, t in pairs} for table, pairs in zip(tables, thresholds)]
    out = bytearray(struct.pack("<H", len(data["trees"])))
    for table in tables:
        out += struct.pack("<H", len(table)) + struct.pack(f"<{len(table)}f", *table)
    for tree in data["trees"]:
        stack = [0]
        while stack:
            n = stack.pop()
            if tree["left"][n] == -1:
                out += struct.pack("<BH", 255, round(tree["value"][n] * 64))
            else:
                f = tree["feature"][n]
                out += struct.pack("<BH", f, index[f][tree["threshold"][n]])
                stack += [tree["right"][n], tree["left"][n]]
    with open(stem + ".bin", "wb") as file:
        file.write(out)
    with open(stem + ".json", "w") as file:
        json.dump({"objective": data["objective"], "knobs": data["knobs"]}, file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    main()
