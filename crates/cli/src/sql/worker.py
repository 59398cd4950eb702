# Runs one query with DuckDB's Python package for `corewise sql`.
#
# The argument is a file with a JSON object: `statements` to run first, and the `query`. Standard output gets one line of JSON with the names and types
# of the columns, then one for each row: a list of texts, in which null is null. An error is one line of JSON on standard error.
import sys

# A module in the current folder is never imported.
sys.path[:] = [path for path in sys.path if path not in ("", ".")]

import json
import re


def fail(kind, message):
    sys.stderr.write(json.dumps({"kind": kind, "message": message}) + "\n")
    sys.stderr.flush()
    sys.exit(3)


try:
    import duckdb
except ImportError as why:
    fail("missing", str(why))


def is_reading(connection, query):
    """Whether a query is one statement that only reads."""
    found = connection.extract_statements(query)
    if len(found) != 1:
        return fail("several" if found else "empty", "")
    if found[0].type == duckdb.StatementType.EXPLAIN:
        return is_reading(connection, re.sub(r"^\s*explain(\s+analyze\b)?(\s*\([^)]*\))?", "", query, flags=re.IGNORECASE))
    return found[0].type == duckdb.StatementType.SELECT


def text(value):
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return repr(value)
    return str(value)


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        request = json.load(file)
    connection = duckdb.connect(":memory:")
    try:
        for statement in request["statements"]:
            connection.execute(statement)
        if not is_reading(connection, request["query"]):
            fail("writes", "")
        connection.execute(request["query"])
        write = sys.stdout.write
        write(json.dumps([[column[0], str(column[1])] for column in connection.description]) + "\n")
        while rows := connection.fetchmany(4096):
            write("".join(json.dumps([text(value) for value in row]) + "\n" for row in rows))
        sys.stdout.flush()
    except duckdb.Error as why:
        fail("error", str(why))
    except MemoryError:
        fail("error", "Out of Memory Error: Python has no memory for the result")


try:
    main()
except (KeyboardInterrupt, BrokenPipeError):
    # No message: the user ended it, or nothing reads the rest.
    sys.stderr.close()
    import os

    os._exit(4)
