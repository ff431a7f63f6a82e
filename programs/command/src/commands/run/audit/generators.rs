//! The functions by which runtimes draw on their generators and seed them.

/// The place of a generator's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Place {
    /// The process has one.
    Process,
    /// The first argument of the function points to an object that has it.
    Object,
    /// The first argument points to this number of bytes, which are all of the state: equal bytes give equal numbers.
    Bytes(usize),
}

/// A generator in user space.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Generator {
    pub(super) name: &'static str,
    pub(super) place: Place,
    /// Begins with the same seed in each process that does not seed it.
    pub(super) has_fixed_seed: bool,
    /// Takes fresh entropy by itself after a fork.
    pub(super) heals: bool,
}

/// The work of a function.
#[derive(Clone, Copy, Debug)]
pub(super) enum Work {
    Draw,
    /// The number of the argument that is the seed, from 0, or none that is a number.
    Seed(Option<usize>),
}

const fn generator(name: &'static str, place: Place) -> Generator {
    Generator {
        name,
        place,
        has_fixed_seed: false,
        heals: false,
    }
}

const fn fixed(name: &'static str) -> Generator {
    Generator {
        has_fixed_seed: true,
        ..generator(name, Place::Process)
    }
}

const fn healing(name: &'static str) -> Generator {
    Generator {
        heals: true,
        ..generator(name, Place::Process)
    }
}

static RAND: Generator = fixed("rand and random of the C library");
static DRAND48: Generator = fixed("drand48 of the C library");
static RAND_R: Generator = generator("rand_r of the C library", Place::Bytes(4));
static ERAND48: Generator = generator("erand48 of the C library", Place::Bytes(6));
static ARC4RANDOM: Generator = healing("arc4random");
static OPENSSL: Generator = healing("RAND_bytes of OpenSSL");
static PERL: Generator = generator("rand of Perl", Place::Bytes(8));
pub(super) static PHP: Generator = generator("mt_rand of PHP", Place::Process);
static CPP: Generator = generator("std::mersenne_twister_engine", Place::Object);
pub(super) static PYTHON: Generator = generator("random of Python", Place::Object);

/// The generator of a function, by the name of its symbol, and what the function does.
pub(super) fn of_symbol(name: &str) -> Option<(&'static Generator, Work)> {
    use Work::{Draw, Seed};
    Some(match name {
        "rand" | "random" => (&RAND, Draw),
        "srand" | "srandom" => (&RAND, Seed(Some(0))),
        "initstate" => (&RAND, Seed(Some(0))),
        "setstate" => (&RAND, Seed(None)),
        "drand48" | "lrand48" | "mrand48" => (&DRAND48, Draw),
        "srand48" => (&DRAND48, Seed(Some(0))),
        "seed48" | "lcong48" => (&DRAND48, Seed(None)),
        "rand_r" => (&RAND_R, Draw),
        "erand48" | "nrand48" | "jrand48" => (&ERAND48, Draw),
        "arc4random" | "arc4random_buf" | "arc4random_uniform" => (&ARC4RANDOM, Draw),
        "RAND_bytes" | "RAND_priv_bytes" => (&OPENSSL, Draw),
        "Perl_drand48_r" => (&PERL, Draw),
        "Perl_drand48_init_r" => (&PERL, Seed(Some(1))),
        "php_mt_rand" => (&PHP, Draw),
        "php_mt_srand" => (&PHP, Seed(Some(0))),
        _ if name.contains("mersenne_twister_engine") && name.ends_with("clEv") => (&CPP, Draw),
        _ if name.contains("mersenne_twister_engine") && name.ends_with("4seedEm") => {
            (&CPP, Seed(Some(1)))
        }
        _ => return None,
    })
}
