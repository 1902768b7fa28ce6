# -*- coding: utf-8 -*-
import random
random.seed(5)
common = "的一是在不了有和人这中大为上个国我以要他时来用们生到作地于出就分对成会可主发年动同工也能下过子说产种面而方后多定行学法所民得经"
rare = "".join(chr(0x4E00 + i * 7) for i in range(900))
with open("语料.txt", "w", encoding="utf-8") as f:
    for i in range(2600):
        n = random.randint(18, 40)
        pool = common if i < 1000 else common * 3 + rare
        f.write("".join(random.choice(pool) for _ in range(n)) + "。\n")
