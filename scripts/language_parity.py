"""Writes crates/media/data/py3langid.json: what py3langid 0.4.0 says of texts, held to the languages of Muster's table.

    python3 scripts/language_parity.py PICTURE_NAMES > crates/media/data/py3langid.json

Needs py3langid==0.4.0. The texts are joined from CLDR's names of emoji (PICTURE_NAMES, the file that
scripts/fetch_models.py makes), and a few by hand: short and long, upper case, decomposed, without letters, mixed scripts.
"""

import json
import sys
import unicodedata

from model_recipes import LANGUAGES
from py3langid.langid import LanguageIdentifier

BY_HAND = [
    "", "12345", "?!", "a", "ok", "THE ROAD IS CLOSED", "DER FLUSS STEIGT", "ЭТО РУССКИЙ ТЕКСТ", "ΑΘΗΝΑ",
    unicodedata.normalize("NFD", "Cão não é inimigo"), "Hello 世界", "%(count)s items in <b>total</b>", "http://example.org/a?b=c",
    "Der Fluss ist über die Ufer getreten und viele Menschen müssen ihre Häuser verlassen.",
    "O rio transbordou e muitas pessoas tiveram de deixar as suas casas.", "😀😀", "İSTANBUL", "ﬁn", "ß", "e\u0301",
]


def main():
    names = json.load(open(sys.argv[1], encoding="utf-8"))
    identifier = LanguageIdentifier.from_model_file("data/model.npz.xz", norm_probs=True)
    wanted = {(pair.split(":") + [pair])[1] if ":" in pair else pair: pair.split(":")[0] for pair in LANGUAGES}
    identifier.set_languages([code for code in identifier.nb_classes if code in wanted])
    texts = list(BY_HAND)
    for code in sorted(names):
        words = [entry[0] for entry in names[code].values()]
        for start, count in ((40, 1), (300, 3), (500, 12), (900, 2), (1200, 6)):
            texts.append(" ".join(words[start % len(words):start % len(words) + count]))
    cases = []
    for text in dict.fromkeys(texts):
        (language, confidence), (second, next_confidence) = identifier.rank(text)[:2]
        # Equal scores have no order.
        if confidence - next_confidence > 1e-3 and next_confidence - identifier.rank(text)[2][1] > 1e-5:
            cases.append({"text": text, "language": wanted[language], "confidence": round(confidence, 6),
                          "second": wanted[second]})
    print("[" + ",\n".join(json.dumps(case, ensure_ascii=False) for case in cases) + "]")


main()
