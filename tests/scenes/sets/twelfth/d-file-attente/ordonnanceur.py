"""Exécute les tâches de la file l'une après l'autre."""
import glob, subprocess, sys, time
def dire(m): print(time.strftime("%d/%m/%Y %H:%M:%S"), "-", m, flush=True)
taches = sorted(glob.glob("taches/*.json"))
dire(f"ordonnanceur démarré, {len(taches)} tâches en attente")
for t in taches:
    p = subprocess.Popen([sys.executable, "-u", "entrainement.py", t])
    open("en_cours.pid", "w").write(str(p.pid))
    dire(f"tâche {t} lancée (pid {p.pid})")
    code = p.wait()
    if code:
        dire(f"tâche {t} : code de retour {code}, arrêt de la file")
        sys.exit(1)
    dire(f"tâche {t} terminée")
dire("file vide")
