import json, random
rnd = random.Random(4)
words = "배송 환불 결제 쿠폰 회원 탈퇴 주소 변경 교환 재고 문의 포인트 카드 오류 로그인 비밀번호".split()
with open("pairs.jsonl", "w", encoding="utf-8") as f:
    for i in range(1200):
        q = " ".join(rnd.choices(words, k=4))
        a = q + " " + " ".join(rnd.choices(words, k=3))
        row = {"id": i, "query": q, "answer": a}
        if i == 612:
            row["answer"] = None  # answer withdrawn
        f.write(json.dumps(row, ensure_ascii=False) + "\n")
