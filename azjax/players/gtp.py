"""Programs that speak the Go Text Protocol, version 2: start one, send commands, read replies.

A point's name is `Go.action_to_text`'s: "D4", or "pass".
"""

from __future__ import annotations

import contextlib
import os
import queue
import shutil
import subprocess
import threading
from collections.abc import Sequence
from types import TracebackType

GAMES_FOLDERS = "/usr/games", "/usr/local/games"  # where Debian puts such programs; often missing from PATH


class GtpError(RuntimeError):
    """The program is missing, has ended, does not answer, or refused a command."""


def find_program(name: str) -> str | None:
    """The path of a program, on PATH or in Debian's folders of games; None if there is none."""
    return shutil.which(name) or shutil.which(name, path=os.pathsep.join(GAMES_FOLDERS))


class GtpEngine:
    """A running program. Use it as a context manager, or call `close`."""

    def __init__(self, command: Sequence[str], *, timeout: float = 60.0) -> None:
        """Starts it; `timeout` is how many seconds it may take to answer a command."""
        self.name, self.timeout = command[0], timeout
        path = find_program(command[0])
        if path is None:
            raise GtpError(
                f"there is no program {command[0]!r} on PATH or in {' or '.join(GAMES_FOLDERS)}; "
                f"on Debian: apt-get install {os.path.basename(command[0])}"
            )
        self._process = subprocess.Popen(
            [path, *command[1:]],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,  # replies begin with = or ?, so that other lines are known as such
            text=True,
            bufsize=1,
        )
        self._lines: queue.Queue[str | None] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def send(self, command: str) -> str:
        """The reply to one command, such as "boardsize 9" or "genmove black", without its mark.

        Raises GtpError if the program refuses it, has ended, or does not answer in time; after the latter two it is
        closed.
        """
        if not command.strip() or "\n" in command:
            raise ValueError(f"a command is one line, got {command!r}")
        if self._process.poll() is not None:
            raise GtpError(f"{self.name} has ended, so that it cannot be sent {command!r}")
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(command + "\n")
            self._process.stdin.flush()
        except OSError as error:
            self.close()
            raise GtpError(f"{self.name} has ended, so that it cannot be sent {command!r}") from error
        reply: list[str] = []
        strange: list[str] = []
        while True:
            line = self._line(command, strange)
            if reply and not line:
                break
            if reply or line[:1] in ("=", "?"):
                reply.append(line)
            elif line:
                strange.append(line)
        text = "\n".join([reply[0][1:].strip(), *reply[1:]]).strip()
        if reply[0].startswith("?"):
            raise GtpError(f"{self.name} refused {command!r}: {text or 'without a reason'}")
        return text

    def close(self) -> None:
        """Ends the program."""
        process = self._process
        assert process.stdin is not None and process.stdout is not None
        with contextlib.suppress(OSError, ValueError):  # it may have ended
            process.stdin.write("quit\n")
        with contextlib.suppress(OSError):
            process.stdin.close()
        try:
            process.wait(timeout=2)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        self._reader.join()
        process.stdout.close()

    def __enter__(self) -> GtpEngine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _read(self) -> None:
        """Hands on every line as it comes, then None."""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line.rstrip())
        self._lines.put(None)

    def _line(self, command: str, strange: list[str]) -> str:
        """The next line of the program."""
        said = f"; it said: {' / '.join(strange[-3:])}" if strange else ""
        try:
            line = self._lines.get(timeout=self.timeout)
        except queue.Empty:
            self._process.kill()
            self.close()
            raise GtpError(f"{self.name} did not answer {command!r} in {self.timeout:g} s{said}") from None
        if line is None:
            self.close()
            code = self._process.returncode
            raise GtpError(f"{self.name} ended with exit code {code} instead of answering {command!r}{said}")
        return line
