//! Short forms: who says `db` means a database, and the other way round.

use std::collections::HashMap;
use std::sync::LazyLock;
use toolhub_text::StrongStemmer;

/// A short form and the word that it stands for. General language of tools only: no names of products.
const TABLE: &str = "db database, repo repository, img image, pic picture, msg message, config configuration, conf configuration, env environment, \
doc document, docs documentation, auth authentication, auth authorization, app application, org organization, admin administrator, \
dir directory, cmd command, lib library, pkg package, func function, param parameter, arg argument, attr attribute, acct account, \
addr address, txn transaction, tx transaction, num number, qty quantity, temp temperature, calc calculate, calc calculator, \
stats statistics, perf performance, spec specification, svc service, mgmt management, lang language, loc location, coord coordinate, \
ref reference, src source, dest destination, txt text, vid video, avg average, diff difference, del delete, exec execute, \
init initialize, sync synchronize, prod production, dev development, dept department, info information, pwd password, \
cert certificate, creds credentials, prefs preferences, max maximum, min minimum, tz timezone, proj project, mem memory, ver version, \
vol volume, geo geographic, math mathematics, eval evaluate, gen generate, var variable, ns namespace, expr expression, \
freq frequency, std standard, dist distance, sched schedule, photo photograph, exam examination, lab laboratory";

/// Stem → the stems of its other form.
static FORMS: LazyLock<HashMap<String, Vec<String>>> = LazyLock::new(|| {
    let stemmer = StrongStemmer::default();
    let mut forms: HashMap<String, Vec<String>> = HashMap::new();
    for (short, long) in TABLE.split(',').filter_map(|pair| pair.trim().split_once(' ')) {
        let (short, long) = (stemmer.stem(short).into_owned(), stemmer.stem(long).into_owned());
        forms.entry(short.clone()).or_default().push(long.clone());
        forms.entry(long).or_default().push(short);
    }
    forms
});

/// The other forms of a stem. The stemmer leaves the plural of short words as it is: `dbs`.
pub fn other_forms(stem: &str) -> &'static [String] {
    let forms = FORMS.get(stem).or_else(|| FORMS.get(stem.strip_suffix('s')?));
    forms.map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_lead_to_each_other() {
        assert_eq!(other_forms("db"), ["databas"]);
        assert_eq!(other_forms("dbs"), ["databas"]);
        assert!(other_forms("databas").contains(&"db".to_owned()));
        assert_eq!(other_forms("auth").len(), 2);
        assert!(other_forms("weather").is_empty());
    }
}
