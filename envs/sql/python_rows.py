"""Runs queries with Python's sqlite3.

Reads a JSON array of {"script": SQL that makes a database, "sql": a query} and writes an array with the rows of each.
"""

import json
import sqlite3
import sys

results = []
for case in json.load(sys.stdin):
    connection = sqlite3.connect(":memory:")
    connection.executescript(case["script"])
    results.append(connection.execute(case["sql"]).fetchall())
    connection.close()
json.dump(results, sys.stdout)
