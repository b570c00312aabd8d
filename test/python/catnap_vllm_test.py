"""Tries catnap_vllm.py without vLLM and without torch: against modules that note what is done to them."""

import sys
import types
import unittest

DID: list[str] = []
FAIL: set[str] = set()


def note(what: str) -> None:
    DID.append(what)
    if what.split(" ")[0] in FAIL:
        raise RuntimeError(f"{what} failed")


class Id:
    def __init__(self) -> None:
        self.internal = [0] * 4


class Nccl:
    def ncclCommDestroy(self, comm: object) -> None:
        note(f"destroy {comm}")

    def ncclGetUniqueId(self) -> Id:
        made = Id()
        made.internal = [7, 7, 7, 7]
        return made

    def ncclCommInitRank(self, size: int, unique: Id, rank: int) -> str:
        note(f"init {rank}/{size} {unique.internal}")
        return "new"


class PyNccl:
    def __init__(self, rank: int) -> None:
        self.nccl, self.comm, self.unique_id = Nccl(), "old", Id()
        self.rank, self.world_size, self.group, self.device, self.disabled = rank, 2, "cpu", "cuda:0", False

    def all_reduce(self, tensor: object) -> None:
        note("all_reduce")


class Group:
    def __init__(self, name: str, rank: int, communicator: object = None) -> None:
        self.device_group, self.device_communicator = name, communicator
        self.rank, self.world_size, self.group_ranks = rank, 2, [[0, 1], [2, 3]]
        self.torch_distributed_backend = "nccl"


def stand_ins(rank: int, told: list[int]) -> None:
    """The parts of torch and of vLLM that are used."""

    class Device:
        def __init__(self, name: str) -> None:
            pass

        def __enter__(self) -> None:
            note("device")

        def __exit__(self, *_: object) -> None:
            pass

    class Bytes(list):
        def tolist(self) -> list[int]:
            return list(self)

    def broadcast(tensor: Bytes, src: int, group: object) -> None:
        note(f"broadcast from {src} over {group}")
        tensor[:] = told

    torch, dist = types.ModuleType("torch"), types.ModuleType("torch.distributed")
    torch.cuda = types.SimpleNamespace(synchronize=lambda: note("synchronize"), device=Device)
    torch.ByteTensor, torch.zeros, torch.distributed = Bytes, lambda n, device: n, dist
    dist.broadcast, dist.get_process_group_ranks = broadcast, lambda group: [0, 1]
    dist.group = types.SimpleNamespace(WORLD="world")
    dist.destroy_process_group = lambda group: note(f"leave {group}")
    dist.new_group = lambda ranks, backend: note(f"form {ranks}") or f"{ranks}"
    vllm, distributed, parallel = (types.ModuleType(n) for n in ("vllm", "vllm.distributed", "parallel_state"))
    vllm.distributed, distributed.parallel_state, parallel._groups = distributed, parallel, {}
    sys.modules.update({"torch": torch, "torch.distributed": dist, "vllm": vllm, "vllm.distributed": distributed})


def worker(rank: int = 0, told: tuple[int, ...] = (7, 7, 7, 7), shared: object = None):
    DID.clear()
    FAIL.clear()
    stand_ins(rank, list(told))
    from catnap_vllm import CatnapWorker

    pynccl = PyNccl(rank)
    communicator = types.SimpleNamespace(pynccl_comm=pynccl, ca_comm=shared, device_group="tp")
    groups = {"world": Group("world", rank), "tp": Group("tp", rank, communicator)}
    parallel = sys.modules["vllm.distributed"].parallel_state
    parallel._groups.update({name: (lambda group=group: group) for name, group in groups.items()})
    parallel._groups["gone"] = lambda: None
    extended = type("Worker", (CatnapWorker,), {})()
    return extended, groups, pynccl, parallel


class Extension(unittest.TestCase):
    def test_everything_on_nccl_goes_down_and_comes_back_and_the_world_stays(self) -> None:
        extended, groups, pynccl, _ = worker()
        self.assertEqual(extended.catnap_part(), 2)
        self.assertEqual(DID, ["synchronize", "destroy old", "leave tp", "synchronize"])
        self.assertEqual((pynccl.comm, pynccl.disabled), (None, True))
        self.assertEqual(groups["world"].device_group, "world")
        DID.clear()
        self.assertEqual(extended.catnap_rejoin(), 2)
        expected = ["broadcast from 0 over cpu", "device", "init 0/2 [7, 7, 7, 7]", "all_reduce", "form [0, 1]", "form [2, 3]", "synchronize"]
        self.assertEqual(DID, expected)
        self.assertEqual((pynccl.comm, pynccl.disabled, groups["tp"].device_group), ("new", False, "[0, 1]"))
        self.assertEqual(groups["tp"].device_communicator.device_group, "[0, 1]")

    def test_another_rank_takes_the_id_it_is_told(self) -> None:
        extended, _, _, _ = worker(rank=1, told=(9, 8, 7, 6))
        extended.catnap_part()
        extended.catnap_rejoin()
        self.assertIn("init 1/2 [9, 8, 7, 6]", DID)

    def test_twice_is_once(self) -> None:
        extended, _, _, _ = worker()
        self.assertEqual(extended.catnap_rejoin(), 0)
        self.assertEqual([extended.catnap_part(), extended.catnap_part()], [2, 0])
        self.assertEqual([extended.catnap_rejoin(), extended.catnap_rejoin()], [2, 0])

    def test_what_fails_is_told_and_everything_is_down_so_that_all_ranks_set_up_the_same(self) -> None:
        extended, groups, pynccl, _ = worker()
        FAIL.add("destroy")
        with self.assertRaisesRegex(RuntimeError, "destroy old failed"):
            extended.catnap_part()
        self.assertEqual((pynccl.comm, groups["tp"].device_group), (None, None))
        self.assertEqual(extended.catnap_rejoin(), 2)
        self.assertEqual((pynccl.comm, groups["tp"].device_group), ("new", "[0, 1]"))

    def test_memory_that_is_shared_without_nccl_is_refused_before_anything_is_torn(self) -> None:
        extended, _, pynccl, _ = worker(shared=types.SimpleNamespace(disabled=False))
        with self.assertRaisesRegex(RuntimeError, "--disable-custom-all-reduce"):
            extended.catnap_part()
        self.assertEqual(pynccl.comm, "old")

    def test_the_preparation_of_vllm_itself_is_used_where_there_is_one(self) -> None:
        extended, _, _, parallel = worker()
        parallel.checkpoint_prepare_distributed_state = lambda: note("prepare")
        parallel.checkpoint_restore_distributed_state = lambda: note("restore")
        extended.catnap_part()
        extended.catnap_rejoin()
        self.assertEqual([DID.index("prepare") < DID.index("destroy old"), DID[-1]], [True, "restore"])

    def test_no_name_is_one_that_a_worker_has(self) -> None:
        from catnap_vllm import CatnapWorker

        names = [name for name in dir(CatnapWorker) if not name.startswith("__")]
        self.assertTrue(all(name.startswith("catnap_") for name in names), names)


if __name__ == "__main__":
    unittest.main()
