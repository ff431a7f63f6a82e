#!/usr/bin/env python3
# SPDX-License-Identifier: 0BSD
"""Tests a reader or a writer of a generation page: clones/generation-page.md says what a page must be.

    conformance.py write PAGE COMMAND    COMMAND, run by sh, must change the counter of PAGE
    conformance.py read COMMAND          COMMAND is started with the path of a page after its words; for each line on its
                                         input it writes a line: "none" if it believes no page, else "same" or
                                         "changed" since its last line

One line in the Test Anything Protocol for each check. The exit status is 1 if a check failed.
"""

import mmap
import os
import struct
import subprocess
import sys
import tempfile

SIZE = 4096
COUNTER = 104
FLAGS = 24


def page(number=7, magic=b"VCLK", size=SIZE, version=1, flags=1 << 8):
    content = bytearray(SIZE)
    content[:12] = struct.pack("<4sIHBB", magic, size, version, 0xFF, 0)
    content[FLAGS:FLAGS + 8] = struct.pack("<Q", flags)
    content[COUNTER:COUNTER + 8] = struct.pack("<Q", number)
    return bytes(content)


class Checks:
    def __init__(self):
        self.number = self.failures = 0

    def __call__(self, holds, what):
        self.number += 1
        self.failures += not holds
        print("ok" if holds else "not ok", self.number, "-", what)

    def end(self):
        print(f"1..{self.number}")
        return int(self.failures > 0)


def write(path, command):
    check = Checks()

    def run():
        return subprocess.run(command, shell=True, stdout=subprocess.DEVNULL).returncode == 0

    check(run(), "the command succeeds, also where no page was")
    try:
        status = os.lstat(path)
        with open(path, "rb") as file:
            mapped = mmap.mmap(file.fileno(), SIZE, prot=mmap.PROT_READ)
    except (OSError, ValueError) as error:
        check(False, f"the page can be mapped: {error}")
        return check.end()
    magic, size, version, _, _ = struct.unpack("<4sIHBB", mapped[:12])
    (flags,) = struct.unpack("<Q", mapped[FLAGS:FLAGS + 8])
    check(magic == b"VCLK" and version == 1, "magic number and version")
    check(status.st_size == SIZE and COUNTER + 8 <= size <= SIZE, "the file has 4096 bytes, and says how many count")
    check(flags & 1 << 8, "the flag that the counter is in use")
    check(status.st_uid in (0, os.geteuid()), "the owner is root or this user")
    check(status.st_mode & 0o170777 == 0o100644, "a file that all can read and its owner alone can write")
    seen = {mapped[COUNTER:COUNTER + 8]}
    for _ in range(20):
        run()
        seen.add(mapped[COUNTER:COUNTER + 8])
    check(len(seen) == 21, "every notice gives a number that was not there before, in the page that is mapped")
    commands = [subprocess.Popen(command, shell=True, stdout=subprocess.DEVNULL) for _ in range(20)]
    check(all(one.wait() == 0 for one in commands), "20 notices at the same time succeed")
    check(mapped[COUNTER:COUNTER + 8] not in seen, "and change the number")
    check(os.lstat(path).st_ino == status.st_ino, "the page stays the same file")
    return check.end()


class Reader:
    """A reader at work on one page."""

    def __init__(self, words, path):
        self.process = subprocess.Popen([*words, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def answer(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def read(words):
    check = Checks()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "generation")

        def put(content, mode=0o644):
            if os.path.lexists(path):
                os.remove(path)
            with open(path, "wb") as file:
                file.write(content)
            os.chmod(path, mode)

        def refuses(what):
            reader = Reader(words, path)
            check(reader.answer() == "none", what)
            reader.end()

        refuses("no page: none")
        for name, content in (
            ("another magic number", page(magic=b"well")),
            ("another version", page(version=2)),
            ("a page without the flag", page(flags=0)),
            ("a page that is too small for the counter, as it says", page(size=104)),
            ("an empty file", b""),
            ("a page that was cut", page()[:4095]),
            ("a page with more bytes", page() + b"\0"),
        ):
            put(content)
            refuses(f"{name}: none")
        for mode in (0o664, 0o646, 0o666):
            put(page(), mode)
            refuses(f"a page that others can write, mode {mode:o}: none")
        put(page())
        if os.geteuid() == 0:
            os.chown(path, 65534, -1)
            refuses("a page of another user: none")
        target = path + ".target"
        os.rename(path, target)
        os.symlink(target, path)
        refuses("a symbolic link: none")
        put(page())
        reader = Reader(words, path)
        check(reader.answer() == "same", "nothing has happened: same")
        with open(path, "r+b", buffering=0) as file:
            for number in (8, 7, 0, 1 << 63, 2**64 - 1, 2**32 + 7, 7):
                os.pwrite(file.fileno(), struct.pack("<Q", number), COUNTER)
                check(reader.answer() == "changed", f"any other number, {number}: changed")
                check(reader.answer() == "same", "told once")
            os.pwrite(file.fileno(), b"x" * 8, 16)
            check(reader.answer() == "same", "another word: same")
        os.remove(path)
        check(reader.answer() == "same", "the file is removed: the mapped page goes on")
        reader.end()
    return check.end()


if __name__ == "__main__":
    if len(sys.argv) == 4 and sys.argv[1] == "write":
        sys.exit(write(sys.argv[2], sys.argv[3]))
    if len(sys.argv) > 2 and sys.argv[1] == "read":
        sys.exit(read(sys.argv[2:]))
    sys.exit(__doc__)
