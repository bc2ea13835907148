//! Stop words: grammar and politeness, which do not tell tools apart.

use std::collections::HashSet;
use std::sync::LazyLock;

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
