"""Words by UAX #29 (uniseg), samples of texts in many scripts, and what else the oracles of text and llm share."""

import pathlib
import re

import regex
import unicodedata2
import uniseg.wordbreak
from jsonlines import pick

HERE = pathlib.Path(__file__).resolve().parent
STOP = dict(line.split("\t") for line in (HERE / "../kernel/words/data/stop_words.tsv").read_text().splitlines()[1:])
STOP = {language: set(words.split(" ")) for language, words in STOP.items()}


ENGLISH = """the river rose in night and flooded lower town people left by boat hall opened as shelter was full noon brought water
food to it fell on friday fire burned hills above crews cut line houses wind turned smoke covered school closed out sunday
bridge road harbour storm heavy rain expected tomorrow evening north coast families asked move higher ground rescue team found
three children under collapsed house doctor treated injured hospital needs blood generator fuel truck arrived late because
landslide blocked pass volunteer carried blanket elderly woman officer said damage could reach million repair power grid may
take week camp receives medicine daily government declared emergency region after earthquake aftershock tsunami warning cancelled
evacuation continues slowly information available temporary situation communication immediately agriculture population""".split()
OTHERS = """Überschwemmung Straße Köln Bürgermeister évacuation forêt déjà naïve garçon niño corazón añadir São coração Łódź żółty
Đà Nẵng İstanbul ırmak Ødegård Ísland žluťoučký Пожар река наводнение Йод ёлка ποταμός ΣΊΣΥΦΟΣ φωτιά مدينة الفيضان ماء مُحَمَّد שלום מים
नमस्ते बाढ़ क्षत्रिय বন্যা வெள்ளம் น้ำท่วม ຍິນດີ ნიანგი Երևան አማርኛ 洪水 火事 地震です 홍수 각 ｱｲｳ ﷺ ﬁre Ⅷ ½ ①② ǆ ᾳ e\u0301te\u0301 o\u0302 A\u030a
can't don’t rock'n'roll U.S.A e.g. 3.14 1,000 -5 24/7 a_b x² H₂O co-operate e-mail 100% #tag @user 👍 👨‍👩‍👧 🇩🇪 🏳️‍🌈 ☂️ 🚒 \u200b \u00ad a\u200db
\u202eabc𝔘𝔫𝔦 𐍈 𠀋 \U0001f469\U0001f3fd\u200d\U0001f692""".split()
SIGNS = [" ", " ", " ", " ", " ", " ", ", ", ". ", "; ", " - ", "\n", "\n\n", "\t", "! ", "? ", " (", ") ", "\u00a0", "\u3000", "\r\n"]


def odd(rng, low=0, high=40):
    """Words and signs of many scripts."""
    out = ""
    for _ in range(int(rng.integers(low, high))):
        out += pick(rng, ENGLISH if rng.random() < 0.4 else OTHERS) + pick(rng, SIGNS)
    return out


def sentences_of(rng, low=1, high=12, words=ENGLISH, least=4, most=16):
    """Plain sentences, each of which begins with a capital and ends with its sign."""
    return [
        " ".join(pick(rng, words) for _ in range(int(rng.integers(least, most)))).capitalize() + pick(rng, [".", ".", "!", "?"])
        for _ in range(int(rng.integers(low, high)))
    ]


def words(text):
    return [word for word in uniseg.wordbreak.words(text) if regex.search(r"[\p{Alphabetic}\p{N}]", word)]


def lower(word):
    """Letter by letter, so that a sigma at the end is that of other places."""
    return unicodedata2.normalize("NFC", "".join(letter.lower() for letter in unicodedata2.normalize("NFKC", word)))


def fold(word):
    """Without diacritics of the Latin, Greek and Cyrillic scripts."""
    kept = re.sub("[\u0300-\u036f\u00ad]", "", unicodedata2.normalize("NFKD", word))
    return unicodedata2.normalize("NFKC", "".join(letter.lower() for letter in kept))
