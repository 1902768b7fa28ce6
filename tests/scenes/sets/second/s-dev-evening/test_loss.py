import time
import unittest


def focal(p, gamma=2.0):
    return (1 - p) ** gamma


class TestFocal(unittest.TestCase):
    def test_zero(self):
        time.sleep(1)
        self.assertEqual(focal(1.0), 0.0)

    def test_negative_gamma(self):
        time.sleep(1)
        focal(1.0, gamma=-1.0)

    def test_half(self):
        time.sleep(1)
        self.assertAlmostEqual(focal(0.5), 0.2)


if __name__ == "__main__":
    unittest.main()
