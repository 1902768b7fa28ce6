import pathlib
import random

random.seed(8)
base = "天地玄黄宇宙洪荒日月盈昃辰宿列张寒来暑往秋收冬藏闰余成岁律吕调阳云腾致雨露结为霜金生丽水玉出昆冈"
folder = pathlib.Path("corpus")
folder.mkdir(exist_ok=True)
for i in range(60):
    text = "".join(random.choice(base) for _ in range(1500))
    # 部分文件来自旧的论坛备份
    encoding = "gbk" if i in (23, 41) else "utf-8"
    (folder / f"part_{i:03d}.txt").write_bytes(text.encode(encoding))
