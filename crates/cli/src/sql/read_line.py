# Reads one line from the terminal, with a history. The arguments: the file of the history, the file that gets the line, and the prompt.
import sys

sys.path[:] = [path for path in sys.path if path not in ("", ".")]

import os

history, output, prompt = sys.argv[1:4]
try:
    import readline
except ImportError:
    readline = None
if readline and history:
    try:
        readline.read_history_file(history)
    except OSError:
        pass
    readline.set_history_length(1000)
try:
    line = input(prompt)
except EOFError:
    print()
    sys.exit(5)
except KeyboardInterrupt:
    print()
    sys.exit(6)
if readline and history:
    os.umask(0o077)
    try:
        os.makedirs(os.path.dirname(history), exist_ok=True)
        readline.write_history_file(history)
    except OSError:
        pass
with open(output, "w", encoding="utf-8") as file:
    file.write(line)
