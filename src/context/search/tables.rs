//! Words by which texts are compared: stop words, which do not tell tools apart, synonyms in English and Chinese, and short forms.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;
use toolhub_text::strong_stem;

/// Grammar and politeness.
const ENGLISH: &str = "a an the and or but if then of for to in on at by with from as into about over after before between \
is are was were be been being am do does did doing have has had having i me my mine myself we us our ours you your yours \
he him his she her it its they them their this that these those there here what which who whom whose when where why how \
can could may might must shall should will would not no nor so than too very just also any some all each every both few \
more most other such only own same up down out off again further once because until while during through above below \
under don t s m d ll re ve want need please help show get know like looking look tell let find give assist hi hello hey \
thanks thank able make sure possible using use used interested wondering currently really trying try well way something \
anything thing someone anyone one ones lot much many provide information info based specific including e g etc via per \
within without available ask recommend suggest suggestion";

static STOPS: LazyLock<HashSet<&'static str>> = LazyLock::new(|| ENGLISH.split_whitespace().collect());

pub fn is_stop(word: &str) -> bool {
    STOPS.contains(word)
}

/// A short form and the word that it stands for. General language of tools only: no names of products.
const SHORT_FORMS: &str = "db database, repo repository, img image, pic picture, msg message, config configuration, conf configuration, env environment, \
doc document, docs documentation, auth authentication, auth authorization, app application, org organization, admin administrator, \
dir directory, cmd command, lib library, pkg package, func function, param parameter, arg argument, attr attribute, acct account, \
addr address, txn transaction, tx transaction, num number, qty quantity, temp temperature, calc calculate, calc calculator, \
stats statistics, perf performance, spec specification, svc service, mgmt management, lang language, loc location, coord coordinate, \
ref reference, src source, dest destination, txt text, vid video, avg average, diff difference, del delete, exec execute, \
init initialize, sync synchronize, prod production, dev development, dept department, info information, pwd password, \
cert certificate, creds credentials, prefs preferences, max maximum, min minimum, tz timezone, proj project, mem memory, ver version, \
vol volume, geo geographic, math mathematics, eval evaluate, gen generate, var variable, ns namespace, expr expression, \
freq frequency, std standard, dist distance, sched schedule, photo photograph, exam examination, lab laboratory";

/// Words that mean the same, a group on each line.
const SYNONYMS: &str = include_str!("synonyms.txt");

/// Stem → the other stems of its groups.
type Groups = HashMap<String, Vec<String>>;

fn grouped<'t>(groups: impl Iterator<Item = impl Iterator<Item = &'t str>>) -> Groups {
    let mut by_stem = Groups::new();
    for group in groups {
        let stems: Vec<String> = group.map(|word| strong_stem(word).into_owned()).collect();
        for stem in &stems {
            let known = by_stem.entry(stem.clone()).or_default();
            known.extend(stems.iter().filter(|other| *other != stem).cloned());
        }
    }
    for others in by_stem.values_mut() {
        others.sort_unstable();
        others.dedup();
    }
    by_stem
}

/// The synonyms of a stem. A Chinese pair is its own stem.
pub fn synonyms(stem: &str) -> &'static [String] {
    static GROUPS: LazyLock<Groups> = LazyLock::new(|| {
        let lines = SYNONYMS.lines().filter(|line| !line.starts_with('#'));
        grouped(lines.map(|line| line.split(',').map(str::trim)))
    });
    GROUPS.get(stem).map_or(&[], Vec::as_slice)
}

/// The short forms of a stem, or what it is short for. The stemmer leaves the plural of short words as it is: `dbs`.
pub fn other_forms(stem: &str) -> &'static [String] {
    static FORMS: LazyLock<Groups> =
        LazyLock::new(|| grouped(SHORT_FORMS.split(',').map(str::split_whitespace)));
    let forms = FORMS.get(stem).or_else(|| FORMS.get(stem.strip_suffix('s')?));
    forms.map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use super::*;
    use toolhub_text::is_wide;

    /// True for a word that the tokenizer can produce: one English word, or a pair.
    fn fits(word: &str) -> bool {
        let english = word.bytes().all(|b| b.is_ascii_lowercase()) && !word.is_empty();
        english || (word.chars().all(is_wide) && word.chars().count() == 2)
    }

    #[test]
    fn the_table_has_only_words_that_can_be_found() {
        for line in SYNONYMS.lines().filter(|line| !line.starts_with('#')) {
            for word in line.split(',').map(str::trim) {
                assert!(fits(word), "{word:?} in {line:?}");
            }
        }
    }

    #[test]
    fn both_languages_lead_to_each_other() {
        assert!(synonyms("天气").contains(&"weather".to_owned()));
        assert!(synonyms("weather").contains(&"天气".to_owned()));
        assert!(synonyms("xyzzy").is_empty());
    }

    #[test]
    fn both_forms_lead_to_each_other() {
        assert_eq!(other_forms("db"), ["databas"]);
        assert_eq!(other_forms("dbs"), ["databas"]);
        assert!(other_forms("databas").contains(&"db".to_owned()));
        assert_eq!(other_forms("auth").len(), 2);
        assert!(other_forms("weather").is_empty());
    }
}
