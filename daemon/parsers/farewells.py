"""Words with which programs of many languages leave their loop, and the shape of a line."""

from __future__ import annotations

import re

_NUMBER = re.compile(r"[-+]?\d[\d,_]*(?:\.\d+)?(?:[eE][-+]?\d+)?")
_GLYPHS = re.compile(r"[\u2500-\u259f#=>\s\u2022.|-]+")
MEASURE = re.compile(r"\d\.\d|\de-\d|\bnan\b|\binf\b", re.IGNORECASE)

TROUBLE = re.compile(
    r"(?i:error|exception|\bfail|warn|traceback|killed|\bsig(?:nal|[a-z]{2,5})\b|abort|fatal|\bnan\b|\binf\b|retry"
    r"|denied|cannot|unable|\blost\b|timed out|timeout|corrupt|invalid|refused|unexpected|interrupt|evict|preempt)"
)
STOPS = re.compile(
    r"(?i:early.?stop|\bstop(?:s|ped|ping)?\b|\bpatience\b|\bhalt|\bconverged\b|\bleaving\b|\bexiting\b|\bquitting\b"
    r"|\b(?:no|without) improvement\b|\b(?:did|has|have)(?: not|n't) improved?\b(?! from)"
    r"|\b(?:time|clock|budget|limit|target|goal|threshold|max\w*)\b.{0,50}\b(?:reached|used|exceeded|met|hit|over|up)\b"
    r"|\b(?:reached|used up|hit)\b.{0,30}\b(?:time|clock|budget|limit|target|goal|threshold|max\w*)\b"
    r"|\bending (?:the )?(?:run|training|loop)|\bfinishing\b|\brestor(?:ing|ed)\b.{0,40}\bbest\b)"
    r"|\u63d0\u524d\u505c\u6b62|\u65e9\u505c"
)
ENDS = re.compile(
    r"(?i:\bdone\b|\bfinish(?:ed)?\b|(?<!\ba )(?<!\bthe )\bcomplete\b|\bcompleted\b|\ball (?:steps|epochs|iterations|rounds)\b|\bfinal\b|\bend of\b"
    r"|\bended\b|\bover\b|\bgood ?bye\b|\bbye\b|\bsuccess(?:ful(?:ly)?)?\b|\btrain_runtime\b|\bbeendet\b|\bfertig\b"
    r"|\bfinalizad[oa]s?\b|\bconclu[ií]d[oa]s?\b|\bcompletad[oa]s?\b|\bcompletat[oa]\b|\babgeschlossen\b|\bvoltooid\b|\bselesai\b|\btamamland|\bzakończon|\bзаверш|\bзакончен"
    r"|\btermin[\u00e9oa]|\bfin\b|\bdur\u00e9e totale\b)"
    r"|\u5b8c\u6210|\u7ed3\u675f|\u5b8c\u4e86|\u7d42\u4e86|\uc644\ub8cc"
    r"|^Saving latest checkpoint\.\.\.$"  # Lightning until 1.5, once its loop is over
)
RESULTS = re.compile(
    r"(?i:\bbest\b|\btest(?:ing|ed)?\b|\bresults?\b|\bsummary\b|\btotal\b|\belapsed\b|\btook\b|\bexport|\breport\b|\boverall\b"
    r"|\b(?:sav(?:ed|ing)|wrote|written|stored)\b.{0,60}\b(?:model|weights|results?|metrics|history|best|last|json|csv|onnx)\b"
    r"|^(?!.*(?:checkpoint|ckpt|(?:step|epoch)[ _-]?\d)).*\b(?:saved|wrote|written|stored|dumped|gespeichert|guardad[oa]s?|enregistrée?s?|salv[oa]|salvat[aeio]|zapisan\w*|opgeslagen|sparad|lagret|kaydedildi|tallennettu|сохран[её]н\w*)\b"
    r"|\bartifacts?\b|\bscores?\b|\bprueba\b|\bprecisi(?:ón|on)\b|\bgenauigkeit\b|\bprécision\b|\bacurácia\b|测试|准确率|\baverage\b|\bmean\b)|\u4fdd\u5b58|\uc800\uc7a5"
)


def shape_of_text(text: str) -> str:
    """A line with 0 for every number and a blank for every rule or bar: lines of one print statement share it."""
    return _GLYPHS.sub(" ", _NUMBER.sub("0", text)).strip().lower()[:120]
