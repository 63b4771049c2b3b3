//! Guessing the language of a text: by its script, and in Latin letters by small words that nearly every sentence has.

use std::collections::{BTreeMap, HashMap};
use std::sync::LazyLock;

use frostem::Algorithm;

/// A language in Latin letters.
#[derive(Debug)]
pub(crate) struct Language {
    pub(crate) name: &'static str,
    pub(super) stems: Algorithm,
    words: &'static str,
    /// A term of all its passages that no word gives, from which queries learn that the language occurs.
    pub(crate) marker: &'static str,
}

/// The language of texts that show no other.
pub(crate) static ENGLISH: Language = Language {
    name: "English",
    stems: Algorithm::English,
    words: "the of and to is that for with are be",
    marker: "\u{1}en",
};

/// Languages by their names, markers and small words.
macro_rules! languages {
    ($($name:ident $marker:literal $words:literal;)+) => {
        [$(Language {
            name: stringify!($name),
            stems: Algorithm::$name,
            words: $words,
            marker: $marker,
        }),+]
    };
}

pub(crate) static OTHERS: [Language; 11] = languages! {
    German "\u{1}de" "der die und das ist nicht mit ein von zu";
    French "\u{1}fr" "le les et des est une dans pour du qui";
    Spanish "\u{1}es" "el los las una por con para del es se";
    Italian "\u{1}it" "il di che non della sono gli nel è un";
    Portuguese "\u{1}pt" "o os não uma em com do da para ao";
    Dutch "\u{1}nl" "het een van dat niet voor zijn met op aan";
    Swedish "\u{1}sv" "och att det som är inte för på av med";
    Danish "\u{1}da" "og at det er ikke til af på med den";
    Finnish "\u{1}fi" "ja ei että oli mutta kun joka ovat myös sekä";
    Romanian "\u{1}ro" "și în cu nu este pe care din sau pentru";
    Turkish "\u{1}tr" "ve bir bu için ile olarak gibi çok daha değil";
};

/// The indexes in [`all`] of the languages that have a small word.
static BY_WORD: LazyLock<HashMap<&str, Vec<usize>>> = LazyLock::new(|| {
    let mut by_word: HashMap<&str, Vec<usize>> = HashMap::new();
    for (index, language) in all().enumerate() {
        for word in language.words.split(' ') {
            by_word.entry(word).or_default().push(index);
        }
    }
    by_word
});

/// A text is in a language if at least one word in this many is a small word of it.
const ONE_IN: usize = 20;

fn all() -> impl Iterator<Item = &'static Language> {
    std::iter::once(&ENGLISH).chain(&OTHERS)
}

/// The language of a text, or its script if that does not tell; `None` of a text without letters.
pub fn language_of(text: &str) -> Option<&'static str> {
    let mut counts: BTreeMap<&'static str, usize> = BTreeMap::new();
    for script in text.chars().filter_map(script) {
        *counts.entry(script).or_default() += 1;
    }
    // Japanese is written in Han as well, and has kana in every sentence.
    if let (Some(kana), Some(han)) = (counts.get("Japanese").copied(), counts.get_mut("Chinese"))
        && 10 * kana > *han
    {
        *han = 0;
    }
    let (script, _) = counts.into_iter().max_by_key(|(_, count)| *count)?;
    Some(match script {
        "Latin" => by_words(text, 1).map_or("others in Latin letters", |language| language.name),
        script => script,
    })
}

/// The language that a letter shows, or its script.
fn script(letter: char) -> Option<&'static str> {
    Some(match letter {
        '\u{370}'..='\u{3ff}' => "Greek",
        '\u{400}'..='\u{52f}' => "Cyrillic",
        '\u{590}'..='\u{5ff}' => "Hebrew",
        '\u{600}'..='\u{6ff}' => "Arabic",
        '\u{900}'..='\u{97f}' => "Hindi",
        '\u{e00}'..='\u{e7f}' => "Thai",
        '\u{3041}'..='\u{30ff}' => "Japanese",
        '\u{3400}'..='\u{9fff}' => "Chinese",
        '\u{1100}'..='\u{11ff}' | '\u{ac00}'..='\u{d7a3}' => "Korean",
        'a'..='z' | 'A'..='Z' | '\u{c0}'..='\u{24f}' => "Latin",
        letter if letter.is_alphabetic() => "others",
        _ => return None,
    })
}

/// The language whose small words are most frequent in a text, if these are at least `least` and enough of all words;
/// of equals English, or the first.
pub(super) fn by_words(text: &str, least: usize) -> Option<&'static Language> {
    let mut counts = [0; 1 + OTHERS.len()];
    let mut words = 0;
    for word in text.split(|letter: char| !letter.is_alphabetic()) {
        words += usize::from(!word.is_empty());
        // No small word is longer.
        if word.len() <= 10
            && let Some(languages) = BY_WORD.get(word.to_lowercase().as_str())
        {
            languages.iter().for_each(|&language| counts[language] += 1);
        }
    }
    let counts = counts.into_iter().enumerate().rev();
    let (index, count) = counts.max_by_key(|(_, count)| *count)?;
    let is_enough = count >= least && ONE_IN * count >= words;
    all().nth(index).filter(|_| is_enough)
}

#[cfg(test)]
mod tests {
    use ken_testing::cases;

    use super::*;

    #[test]
    fn a_text_tells_its_language() {
        for (text, language) in cases![
            "The boat is kept in the shed, and the oil has to be changed." => "English";
            "Das Boot ist im Schuppen, und das Öl wird mit dem Filter gewechselt." => "German";
            "Le bateau est dans le hangar et les clés sont chez une voisine." => "French";
            "El barco está en el cobertizo y las llaves están con una vecina." => "Spanish";
            "La barca è nel capanno, e le chiavi non sono della casa." => "Italian";
            "O barco não está em casa, e a chave do barco fica com uma vizinha." => "Portuguese";
            "Het schip ligt niet in de haven, dat is van een schipper." => "Dutch";
            "Båten är i skjulet och det är inte stängt på natten." => "Swedish";
            "Båden er i skuret, og det er ikke lukket om natten." => "Danish";
            "Laiva on vajassa ja avaimet ovat naapurilla." => "Finnish";
            "Barca este în hangar și cheile nu sunt pe masă." => "Romanian";
            "Tekne bir kulübede ve anahtar komşu ile." => "Turkish";
            "Loď je v kůlně a klíče má sousedka." => "others in Latin letters";
            "Лодка стоит в сарае, ключ у соседки." => "Cyrillic";
            "灯每九秒转一圈。" => "Chinese";
            "灯台の光は九秒ごとに回る。" => "Japanese";
            "등대의 불빛은 구 초마다 돈다." => "Korean";
            "नाव छप्पर में है।" => "Hindi";
        ] {
            assert_eq!(language_of(text), Some(language), "{text}");
        }
        assert_eq!(language_of("12 + 30 = 42"), None);
    }
}
