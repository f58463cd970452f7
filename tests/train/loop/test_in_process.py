"""What a training in this process imports before it begins."""

import subprocess
import sys


def test_neither_mlflow_nor_ray_is_imported_before_it_is_needed() -> None:
    """All that `vtr train --scaling.workers 0` imports for its loop and its log, without a run."""
    modules = ("vtr_core.tracking.environment", "vtr_core.train.loop.worker", "vtr_core.train.tracked")
    code = f"import sys, {', '.join(modules)}; print(sorted({{'torch', 'mlflow', 'ray'}} & set(sys.modules)))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "['torch']"
