"""What catnap adds to the workers of vLLM, so that a process on one of several GPUs can be frozen.

vLLM makes `CatnapWorker` a base class of its worker (`--worker-extension-cls catnap_vllm.CatnapWorker`), and
`collective_rpc` calls its methods by name in every worker. No name may be one that the worker has already, and those that
begin with two underscores are not looked at.

`catnap_part` gives up every NCCL communicator: memory that several processes have mapped cannot be frozen, and a
communicator that was torn by a freeze hangs for ever. `catnap_rejoin` makes them anew. The groups on the processor (gloo)
stay: over them the processes agree on what is new. Weights and caches are not touched.
"""

from __future__ import annotations

from typing import Any, Iterator


class CatnapWorker:
    """Mixed into vLLM's worker. All state is kept in one attribute, so that no name can be in the way."""

    def catnap_part(self) -> int:
        """Tears down; gives how many. What is in the way is told before anything is done. Where one fails the others go down
        all the same, so that `catnap_rejoin` finds the same to do in every process: setting up needs all of them at once."""
        import torch

        if getattr(self, "catnap_parted", None) is not None:
            return 0
        parallel = _parallel_state()
        groups = list(_groups(parallel))
        for group in groups:
            _check(group)
        torch.cuda.synchronize()
        self.catnap_parted = parted = _Parted()
        parted.attempt(lambda: _call_if_there(parallel, "checkpoint_prepare_distributed_state"))
        for group in groups:
            parted.part(group)
        parted.attempt(torch.cuda.synchronize)
        if parted.error is not None:
            raise parted.error
        return parted.count

    def catnap_rejoin(self) -> int:
        """Sets up again what was torn down, in the same order in every process; gives how many."""
        import torch

        parted = getattr(self, "catnap_parted", None)
        if parted is None:
            return 0
        count = parted.rejoin()
        torch.cuda.synchronize()
        self.catnap_parted = None
        _call_if_there(_parallel_state(), "checkpoint_restore_distributed_state")
        return count


class _Parted:
    """What was torn down and how to undo it, oldest first: groups are made by all processes in one order."""

    def __init__(self) -> None:
        self._undo: list[Any] = []
        self.error: Exception | None = None

    @property
    def count(self) -> int:
        return len(self._undo)

    def attempt(self, act: Any) -> None:
        try:
            act()
        except Exception as error:  # told by whoever asked for all of it
            self.error = self.error or error

    def part(self, group: Any) -> None:
        communicator = getattr(group, "device_communicator", None)
        pynccl = getattr(communicator, "pynccl_comm", None)
        if pynccl is not None and not getattr(pynccl, "disabled", False):
            self._undo.append(lambda: _create(pynccl))
            self.attempt(lambda: _destroy(pynccl))
        if _has_own_device_group(group):
            self._undo.append(lambda: _form(group, communicator))
            self.attempt(lambda: _leave(group))

    def rejoin(self) -> int:
        count = 0
        for undo in self._undo:
            undo()
            count += 1
        self._undo = []
        return count


def _check(group: Any) -> None:
    shared = getattr(getattr(group, "device_communicator", None), "ca_comm", None)
    if shared is not None and not getattr(shared, "disabled", True):
        raise RuntimeError("custom all-reduce shares memory between GPUs: start with --disable-custom-all-reduce")


def _destroy(pynccl: Any) -> None:
    """Every rank is told to, and none has work left on it."""
    comm, pynccl.comm, pynccl.disabled = pynccl.comm, None, True
    pynccl.nccl.ncclCommDestroy(comm)


def _create(pynccl: Any) -> None:
    """As vLLM does it at its start: the first rank makes an id, and tells it to the others over the group on the processor."""
    import torch
    import torch.distributed as dist

    unique = pynccl.nccl.ncclGetUniqueId() if pynccl.rank == 0 else type(pynccl.unique_id)()
    told = torch.ByteTensor(list(unique.internal))
    dist.broadcast(told, src=dist.get_process_group_ranks(pynccl.group)[0], group=pynccl.group)
    for at, byte in enumerate(told.tolist()):
        unique.internal[at] = byte
    pynccl.unique_id = unique
    with torch.cuda.device(pynccl.device):
        pynccl.comm = pynccl.nccl.ncclCommInitRank(pynccl.world_size, unique, pynccl.rank)
        pynccl.disabled = False
        # The first one sets up the connections; it is had before anybody waits.
        pynccl.all_reduce(torch.zeros(1, device=pynccl.device))


def _has_own_device_group(group: Any) -> bool:
    """That of the whole world is the default one of torch: all others hang on it, so it is left alone."""
    import torch.distributed as dist

    device_group = getattr(group, "device_group", None)
    if device_group is None or getattr(group, "world_size", 1) == 1:
        return False
    return device_group is not dist.group.WORLD and getattr(group, "group_ranks", None) is not None


def _leave(group: Any) -> None:
    import torch.distributed as dist

    device_group, group.device_group = group.device_group, None
    dist.destroy_process_group(device_group)


def _form(group: Any, communicator: Any) -> None:
    """Every process makes every group, also those that it is not in; torch wants it so."""
    import torch.distributed as dist

    for ranks in group.group_ranks:
        made = dist.new_group(ranks, backend=group.torch_distributed_backend)
        if group.rank in ranks:
            group.device_group = made
    if communicator is not None and hasattr(communicator, "device_group"):
        communicator.device_group = group.device_group


def _groups(parallel: Any) -> Iterator[Any]:
    """Every group of this process, each once, in the order in which they were made."""
    seen: list[Any] = []
    for reference in list(parallel._groups.values()):
        group = reference()
        if group is None or any(group is other for other in seen):
            continue
        seen.append(group)
        yield group


def _parallel_state() -> Any:
    from vllm.distributed import parallel_state

    return parallel_state


def _call_if_there(module: Any, name: str) -> None:
    """vLLM's own preparation, in versions that have it: what FlashInfer shares between GPUs. It leaves NCCL alone."""
    function = getattr(module, name, None)
    if function is not None:
        function()
