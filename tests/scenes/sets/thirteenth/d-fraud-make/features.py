import pandas as pd, xgboost as xgb
def load(months):
    df = pd.concat(pd.read_csv(f"data/tx_{m}.csv") for m in months)
    y = df.pop("is_fraud")
    x = pd.get_dummies(df, columns=["channel"], dtype=float)
    return xgb.DMatrix(x, label=y)
