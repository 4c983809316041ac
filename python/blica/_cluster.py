"""Verbs that the workers of a Dask cluster run together, as ranks of the library: each does a part of the work, all have the result.

The workers connect to the first of them, which puts together what they send and hands it on. When a worker dies its connections break,
the others give up, and the work begins again on those that are left. The result is the same doubles for any number of workers.
"""
from __future__ import annotations

import socket
import struct
import time
import uuid
from typing import Any, Callable, Dict, List, Optional, Tuple

import numpy as np

from ._library import ffi, lib
from ._session import _current, _remember

ATTEMPTS = 5
_listening: Dict[str, socket.socket] = {}  # by address of a worker of this process: where the ranks meet, if it is the first of them


def _receive(peer: socket.socket, size: int) -> bytearray:
    """Exactly that many bytes."""
    found = bytearray(size)
    view = memoryview(found)
    while view:
        count = peer.recv_into(view)
        if count == 0:
            raise ConnectionError("a worker of the cluster has gone")
        view = view[count:]
    return found


class Ranks:
    """The communicator of a rank. Rank 0 has a connection to each of the others, in their order; they have one to rank 0."""

    def __init__(self, rank: int, size: int, peers: List[socket.socket]):
        self.peers, self.rank, self.warned = peers, rank, []  # type: List[socket.socket], int, List[str]
        self.stopped: Optional[Callable[[], bool]] = None
        self._looked = time.monotonic()
        self._handle = ffi.new_handle(self)
        self.comm = ffi.new("blica_comm *", {
            "rank": rank, "size": size, "sum": lib.blica_python_sum, "gather": lib.blica_python_gather,
            "broadcast": lib.blica_python_broadcast, "user": self._handle})

    def go_on(self) -> bool:
        """Whether nobody has stopped the run; looked up once in a second."""
        if self.stopped is None or time.monotonic() - self._looked < 1:
            return True
        self._looked = time.monotonic()
        return not self.stopped()

    def sum(self, x: np.ndarray) -> None:
        if self.rank == 0:
            for peer in self.peers:
                x += np.frombuffer(_receive(peer, x.nbytes))
        else:
            self.peers[0].sendall(x.tobytes())
        self.broadcast(x, 0)

    def gather(self, x: np.ndarray, count: List[int], offset: List[int]) -> None:
        def part(rank: int) -> np.ndarray:
            return x[offset[rank]:offset[rank] + count[rank]]

        if self.rank == 0:
            for rank, peer in enumerate(self.peers, 1):
                part(rank)[:] = np.frombuffer(_receive(peer, part(rank).nbytes))
        else:
            self.peers[0].sendall(part(self.rank).tobytes())
        for rank in range(len(count)):
            self.broadcast(part(rank), 0)

    def broadcast(self, values, root: int) -> None:
        here = memoryview(values).cast("B") if len(values) else memoryview(b"")
        if self.rank == 0:
            if root != 0:
                here[:] = _receive(self.peers[root - 1], len(here))
            for rank, peer in enumerate(self.peers, 1):
                if rank != root:
                    peer.sendall(here)
        elif self.rank == root:
            self.peers[0].sendall(here)
        else:
            here[:] = _receive(self.peers[0], len(here))


def _doubles(x, count: int) -> np.ndarray:
    return np.frombuffer(ffi.buffer(x, 8 * count)) if count else np.empty(0)


@ffi.def_extern(error=1, onerror=_remember)
def blica_python_sum(x, count, user):
    ffi.from_handle(user).sum(_doubles(x, count))
    return 0


@ffi.def_extern(error=1, onerror=_remember)
def blica_python_gather(x, count, offset, user):
    size = ffi.from_handle(user).comm.size
    counts, offsets = list(count[0:size]), list(offset[0:size])
    ffi.from_handle(user).gather(_doubles(x, max(a + b for a, b in zip(counts, offsets))), counts, offsets)
    return 0


@ffi.def_extern(error=1, onerror=_remember)
def blica_python_broadcast(values, count, root, user):
    ffi.from_handle(user).broadcast(ffi.buffer(values, count) if count else b"", root)
    return 0


# ---- on a worker ----

def _listen(dask_worker) -> Tuple[str, int]:
    """Begins to listen for the ranks of a run; where."""
    from distributed.comm import get_address_host

    address = dask_worker.address
    if address in _listening:  # of a run that was given up
        _listening.pop(address).close()
    host = get_address_host(address) if address.startswith(("tcp", "tls")) else "127.0.0.1"
    _listening[address] = socket.create_server((host, 0))
    return host, _listening[address].getsockname()[1]


def _meet(own: socket.socket, key: str, rank: int, size: int, place: Tuple[str, int], stopped: Callable[[], bool]) -> List[socket.socket]:
    """Connections to the other ranks, to their first of all but that."""
    with own:
        if rank > 0:
            first = socket.create_connection(place)
            first.sendall(struct.pack("<32sq", key.encode(), rank))
            return [first]
        found: Dict[int, socket.socket] = {}
        own.settimeout(1)
        while len(found) < size - 1:
            try:
                peer = own.accept()[0]
            except socket.timeout:
                if stopped():
                    raise ConnectionError("the run was given up") from None
                continue
            peer.setblocking(True)
            token, other = struct.unpack("<32sq", _receive(peer, 40))
            if token == key.encode():
                found[other] = peer
    return [found[other] for other in range(1, size)]


def _take_part(key: str, rank: int, size: int, place: Tuple[str, int], verb: Callable, call: Tuple[tuple, dict]) -> Tuple[Any, List[str]]:
    """Runs the verb as one of the ranks; its result and warnings."""
    from distributed import Event, get_worker

    stop = Event(key)
    peers = _meet(_listening.pop(get_worker().address), key, rank, size, place, stop.is_set)
    try:
        for peer in peers:
            peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        _current.ranks = ranks = Ranks(rank, size, peers)
        ranks.stopped = stop.is_set if rank == 0 else None
        arguments, options = call
        if options.get("threads") is None:
            options = {**options, "threads": get_worker().state.nthreads}
        return verb(*arguments, **options), ranks.warned
    finally:
        _current.ranks = None
        for peer in peers:
            peer.close()


# ---- on the client ----

def run(client, verb: Callable, *arguments, **options):
    """verb(*arguments, **options) by all workers of the client."""
    import warnings
    from concurrent.futures import CancelledError

    import distributed

    from ._session import BlicaWarning

    if not isinstance(client, distributed.Client):
        raise TypeError(f"client is {client!r}; give a distributed.Client")
    if options.get("verbose"):
        raise ValueError("verbose has no effect on what the workers of client= do; the dashboard of Dask shows them")
    with distributed.Lock("blica", client):  # two runs at a time could wait for each other
        for attempt in range(ATTEMPTS):
            try:
                found, warned = _attempt(client, verb, (arguments, options))
                break
            except (OSError, CancelledError):  # what a lost worker looks like from here
                if attempt == ATTEMPTS - 1:
                    raise
                time.sleep(1)  # until the scheduler knows
    for message in warned:
        warnings.warn(message, BlicaWarning, stacklevel=3)
    return found


def _attempt(client, verb: Callable, call: Tuple[tuple, dict]):
    import distributed

    key = uuid.uuid4().hex
    said = client.run(_listen, on_error="return")
    places = {worker: place for worker, place in said.items() if isinstance(place, tuple)}
    if not places:
        raise next(iter(said.values()), RuntimeError("the client has no workers"))
    workers, size = list(places), len(places)
    stop = distributed.Event(key, client)
    futures = []
    try:
        shared = client.scatter([call], workers=workers, broadcast=True, hash=False)[0]
        futures = [client.submit(_take_part, key, rank, size, places[workers[0]], verb, shared, key=f"blica-{rank}-{key}", workers=[worker],
                                 pure=False) for rank, worker in enumerate(workers)]
        while not futures[0].done():
            try:
                distributed.wait(futures, timeout=1, return_when="FIRST_COMPLETED")
            except distributed.TimeoutError:
                pass
            failed = next((one for one in futures if one.status == "error"), None)
            if failed is not None:
                failed.result()
            if not set(workers) <= set(client.nthreads()):
                raise ConnectionError("a worker of the cluster has gone")
            if futures[0].status != "finished" and any(one.done() for one in futures):
                time.sleep(0.05)
        return futures[0].result()
    finally:
        stop.set()
        client.cancel(futures)
