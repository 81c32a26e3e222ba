"""Words as they are typed in chats and in dialects, by language, after folding."""

from collections.abc import Mapping

SHORTHAND: Mapping[str, Mapping[str, str]] = {
    "en": {"n": "and", "u": "you", "fri": "friday", "alot": "a lot", "thru": "through", "wudnt": "wouldnt"},
    "de": {
        "i": "ich",
        "heit": "heute",
        "heut": "heute",
        "nimmer": "nicht mehr",
        "nimma": "nicht mehr",
        "dua": "tue",
        "tu": "tue",
        "nix": "nichts",
        "no": "noch",
    },
    "es": {"toy": "estoy", "k": "que", "q": "que", "xq": "porque", "pa": "para", "aki": "aqui", "tb": "tambien"},
    "fr": {
        "g": "j ai",
        "jai": "j ai",
        "jen": "j en",
        "jveux": "je veux",
        "jpeux": "je peux",
        "jcommence": "je commence",
        "jvais": "je vais",
        "envi": "envie",
        "peu plus": "peux plus",
        "ma frappe": "m a frappe",
        "ma touchee": "m a touchee",
        "ma touche": "m a touche",
        "ma coincee": "m a coincee",
        "ma viole": "m a viole",
        "ma violee": "m a violee",
        "m as": "je vais",
        "chu": "je suis",
        "pu": "plus",
        "a soir": "ce soir",
        "vrmt": "vraiment",
    },
    "pt": {"n": "nao", "ta": "estar", "q": "que", "pq": "porque", "hj": "hoje", "vc": "voce", "tava": "estava"},
}
