"""Reads the exports of `python.rs` with pandas, pyarrow and Polars."""
import glob
import json
import math
import struct
import sys

import pandas
import polars
import pyarrow.dataset
import pyarrow.feather
import pyarrow.parquet

root = sys.argv[1]
FLOATS = [1.5, math.nan, -0.0, math.inf, 1e300]
TEXTS = [None, "", 'a,"b"\nä']
DAY = 86_400_000


def bits(number):
    return struct.pack("<d", number)


def check(rows, source):
    rows = sorted(rows, key=lambda row: (row["plant"], row["at"]))
    assert len(rows) == 20, (source, len(rows))
    for place, row in enumerate(rows):
        number = place % 10
        where = (source, place, row)
        assert row["plant"] == ["north", "so/uth ä"][place // 10], where
        assert row["sensorId"] == 2**53 + 1, where
        assert millis(row["at"]) == number * 15 * DAY - 1, where
        wanted = FLOATS[number % 5]
        assert (math.isnan(row["value"]) and math.isnan(wanted)) or bits(row["value"]) == bits(wanted), where
        assert row["maybe"] == (2**63 - 1 - number if number % 3 else None), where
        assert row["text"] == TEXTS[number % 3], where
        assert (row["price"], row["id"], row["bytes"]) == ("1.10", "07" * 12, {"subtype": 0, "bytes": b"\x00\xff"}), where
        assert list(row["more"]) == list(range(number % 3)), where
        assert row["place"] == {"x": 0.5, "name": None if number % 2 else "here"}, where
        bad = {"code": number} if number % 2 else None
        assert row["kind"] == {"variant": "Bad" if number % 2 else "Good", "Bad": bad}, where


def millis(date):
    epoch = pandas.Timestamp(0, tz="UTC")
    return (pandas.Timestamp(date) - epoch) // pandas.Timedelta(milliseconds=1)


def files(name, end):
    found = sorted(glob.glob(f"{root}/{name}/**/*.{end}", recursive=True))
    assert found
    return found


# Parquet, as a dataset with partitions.
table = pyarrow.dataset.dataset(f"{root}/parquet", partitioning="hive").to_table()
assert table.schema.field("at").type == pyarrow.timestamp("ms", "UTC")
assert set(table["key_plant"].to_pylist()) == {"north", "so/uth ä"}
assert "1970-01" in table["month"].to_pylist() and "1969-12" in table["month"].to_pylist()
check(table.to_pylist(), "pyarrow.dataset")
check(pyarrow.parquet.read_table(f"{root}/parquet").to_pylist(), "pyarrow.parquet")
frame = pandas.read_parquet(f"{root}/parquet")
assert len(frame) == 20 and str(frame["at"].dtype) == "datetime64[ms, UTC]", frame.dtypes
frame = polars.read_parquet(f"{root}/parquet/**/*.parquet", hive_partitioning=True)
assert set(frame["key_plant"]) == {"north", "so/uth ä"}, frame["key_plant"]
assert frame.schema["at"] == polars.Datetime("ms", "UTC"), frame.schema
check(frame.to_dicts(), "polars.read_parquet")

# One month of one key.
some = polars.scan_parquet(f"{root}/parquet/**/*.parquet", hive_partitioning=True)
some = some.filter((polars.col("key_plant") == "north") & (polars.col("month") == "1970-01")).collect()
assert len(some) == 2, some

# Arrow IPC.
rows = [row for path in files("ipc", "arrow") for row in pyarrow.feather.read_table(path).to_pylist()]
check(rows, "pyarrow.feather")
rows = [row for path in files("ipc", "arrow") for row in polars.read_ipc(path).to_dicts()]
check(rows, "polars.read_ipc")


def of_text(row):
    """What CSV and JSON have as text."""
    row = dict(row)
    for name in ["bytes", "more", "place", "kind"]:
        if isinstance(row[name], str):
            row[name] = json.loads(row[name])
    row["bytes"]["bytes"] = bytes.fromhex(row["bytes"]["bytes"])
    if isinstance(row["value"], str):
        row["value"] = float(row["value"])
    return row


# CSV. pandas does not tell a missing text from an empty one, Polars does.
types = {"value": polars.Float64, "maybe": polars.Int64, "price": polars.String, "id": polars.String, "bytes": polars.String}
rows = [row for path in files("csv", "csv") for row in polars.read_csv(path, schema_overrides=types).to_dicts()]
check([of_text(row) for row in rows], "polars.read_csv")
frames = [pandas.read_csv(path, parse_dates=["at"]) for path in files("csv", "csv")]
assert sum(len(frame) for frame in frames) == 20

# JSON lines. A number that JSON lacks is a text.
rows = [json.loads(line) for path in files("json", "jsonl") for line in open(path, encoding="utf-8")]
check([of_text(row) for row in rows], "json")
frames = [pandas.read_json(path, lines=True) for path in files("json", "jsonl")]
assert sum(len(frame) for frame in frames) == 20
rows = [polars.read_ndjson(path, infer_schema_length=None) for path in files("json", "jsonl")]
assert sum(len(frame) for frame in rows) == 20

print("all read")
