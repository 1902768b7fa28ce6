import logging

import pandas as pd
import xgboost as xgb

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s score: %(message)s")
log = logging.getLogger()
FEATURES = ["amount", "hour", "merchant_risk", "velocity_1h"]
frame = pd.read_parquet("score.parquet")
log.info("scoring %d transactions", len(frame))
booster = xgb.Booster(model_file="fraud.json")
scores = booster.predict(xgb.DMatrix(frame[FEATURES]))
frame.assign(score=scores).to_parquet("scores.parquet")
log.info("alerts above 0.9: %d", (scores > 0.9).sum())
