from catboost import CatBoostClassifier
m = CatBoostClassifier().load_model("model.cbm")
with open("report.txt", "w") as f:
    for name, v in sorted(zip(m.feature_names_, m.get_feature_importance()), key=lambda a: -a[1]):
        f.write(f"{name:10s} {v:6.2f}\n")
