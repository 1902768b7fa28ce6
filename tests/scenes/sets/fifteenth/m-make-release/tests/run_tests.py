import io, logging, os, sys, unittest
sys.path.insert(0, os.getcwd())
import torch
from model import Reranker, batch

logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(levelname)s %(name)s %(message)s")
log = logging.getLogger("tests")


class TestReranker(unittest.TestCase):
    def test_shape(self):
        self.assertEqual(Reranker()(torch.zeros(3, 16), torch.zeros(3, 16)).shape, (3,))

    def test_wrong_shape_is_refused(self):
        try:
            Reranker()(torch.zeros(3, 16), torch.zeros(2, 16))
        except ValueError:
            log.exception("refused, as it should be")
        else:
            self.fail("accepted")

    def test_nan_stays_visible(self):
        self.assertTrue(Reranker()(torch.full((1, 16), float("nan")), torch.zeros(1, 16)).isnan().all())

    def test_broken_checkpoint(self):
        with self.assertRaises(Exception) as e:
            torch.load(io.BytesIO(b"not a checkpoint"))
        log.info("broken checkpoint gives: %s", type(e.exception).__name__)

    @unittest.expectedFailure
    def test_half_on_old_boxes(self):
        self.assertEqual(Reranker()(torch.zeros(3, 16).half(), torch.zeros(3, 16).half()).dtype, torch.half)

    def test_batch(self):
        q, d, y = batch(64, torch.Generator().manual_seed(0))
        self.assertEqual((q.shape, d.shape, y.shape), ((64, 16), (64, 16), (64,)))


unittest.main(verbosity=2)
