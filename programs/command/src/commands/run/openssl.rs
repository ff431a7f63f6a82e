//! The configuration of OpenSSL for the program: what it would read without this command, and after that the lines that select
//! the generator WELLSPRING.
//!
//! A configuration is a policy: the least version of TLS, the level of security, providers, the settings of PHP and of
//! `openssl req`. All of it stays. The new file includes it, opens its sections again and adds lines, whose names its sections
//! do not have. Where that cannot be done, because the policy demands another generator, the command refuses. OpenSSL itself
//! reads the old file and the new one, so that both are taken as the program will take them.

use super::files::{Folder, Time};
use crate::streams::Failure;
use std::collections::HashSet;
use std::ffi::{CStr, CString, c_char, c_int, c_long, c_ulong, c_void};
use std::fs;
use std::hash::Hash;
use std::io::ErrorKind;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::ptr::{null, null_mut};

/// The value of OPENSSL_CONF for the program.
pub(super) enum Setting {
    /// The file with the lines added.
    File(PathBuf),
    /// The present one: the program's configuration has the lines.
    AsItIs,
    /// The present one: there is no OpenSSL here by which programs could read a file.
    NoLibrary,
}

/// Makes the configuration, with the provider at this path.
pub(super) fn configuration(provider: &Path) -> Result<Setting, Failure> {
    let Some(library) = LibCrypto::load() else {
        return Ok(Setting::NoLibrary);
    };
    if fs::read("/proc/sys/crypto/fips_enabled").is_ok_and(|text| text.starts_with(b"1")) {
        return Err(refuse("this system is in FIPS mode"));
    }
    let present = present(&library)?;
    let read = |path: &Path| {
        library.read(path).map_err(|line| {
            let path = path.display();
            let place = if line == 0 {
                String::new()
            } else {
                format!(", line {line}")
            };
            refuse(&format!("OpenSSL cannot read {path}{place}"))
        })
    };
    let before = present.as_deref().map(read).transpose()?;
    let Some(addition) = Addition::new(before.as_ref(), &library, present.as_deref(), provider)?
    else {
        return Ok(Setting::AsItIs);
    };
    let folder = Folder::find(Time::Environment)?;
    let path = folder.file("openssl", ".cnf", &addition.text(present.as_deref()))?;
    let after = read(&path)?;
    if addition.is_in(&after, before.as_ref()) {
        Ok(Setting::File(path))
    } else {
        let present = present.unwrap_or_default();
        Err(refuse(&format!("{} cannot be added to", present.display())))
    }
}

fn refuse(reason: &str) -> Failure {
    Failure::work(format!(
        "{reason}, so OpenSSL cannot be given the generator WELLSPRING: run the program with --preload alone, which serves \
         the seeds that OpenSSL draws from the system"
    ))
}

/// The file that the program would read. `None` if it does not exist, has an empty name, or is /dev/null.
fn present(library: &LibCrypto) -> Result<Option<PathBuf>, Failure> {
    // OpenSSL takes an empty name for none.
    let file = library
        .default_file()
        .filter(|file| !file.as_os_str().is_empty());
    let Some(file) = file else {
        return Ok(None);
    };
    // The program may be in another folder when it reads the file.
    let file = std::path::absolute(&file).unwrap_or(file);
    if file.as_os_str().as_bytes().iter().any(u8::is_ascii_control) {
        return Err(refuse(&format!(
            "{} has a control character in its name",
            file.display()
        )));
    }
    match fs::metadata(&file) {
        Ok(status) if status.is_file() => Ok(Some(file)),
        Ok(status) if status.file_type().is_char_device() && file == Path::new("/dev/null") => {
            Ok(None)
        }
        Ok(_) => Err(refuse(&format!("{} is no regular file", file.display()))),
        // As OpenSSL does.
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Ok(None)
        }
        Err(error) => Err(refuse(&format!("{}: {error}", file.display()))),
    }
}

type Entries = Vec<(Vec<u8>, Vec<u8>)>;

/// The lines to be added.
struct Addition {
    /// The section of libraries.
    libraries: Vec<u8>,
    /// The name of the section of providers. If the file names no such section, an added line does.
    providers: Vec<u8>,
    /// The lines of each section: the whole addition but the line above all sections.
    sections: Vec<(Vec<u8>, Entries)>,
    names_libraries: bool,
}

const PROVIDER: &[u8] = b"wellspring_run_provider";
const RANDOM: &[u8] = b"wellspring_run_random";

impl Addition {
    /// `None` if nothing is to be added.
    fn new(
        before: Option<&Configuration<'_>>,
        library: &LibCrypto,
        present: Option<&Path>,
        provider: &Path,
    ) -> Result<Option<Self>, Failure> {
        let section = |name: &[u8]| {
            before
                .map(|before| before.section(name))
                .unwrap_or_default()
        };
        let named = before.and_then(|before| before.value(c"openssl_conf"));
        let libraries = named.clone().unwrap_or_else(|| b"wellspring_run".to_vec());
        let modules = section(&libraries);
        // OpenSSL takes `providers.1` for another `providers`.
        let all_of = |kind: &[u8]| -> Vec<Vec<u8>> {
            let is_kind = |name: &[u8]| name.rsplitn(2, |&byte| byte == b'.').last() == Some(kind);
            let found = modules.iter().filter(|(name, _)| is_kind(name));
            found.map(|(_, value)| value.clone()).collect()
        };
        let of_file = present.map_or(String::new(), |file| file.display().to_string());
        for algorithms in all_of(b"alg_section") {
            if section(&algorithms)
                .iter()
                .any(|(name, value)| demands_fips(name, value))
            {
                return Err(refuse(&format!("{of_file} demands FIPS")));
            }
        }
        let mut has_generator = false;
        for random in all_of(b"random") {
            let lines = section(&random);
            let is = |name: &[u8], value: &[u8]| {
                lines.iter().any(|line| line.0 == name && line.1 == value)
            };
            has_generator |= is(b"random", b"WELLSPRING") || is(b"seed", b"WELLSPRING-SEED");
            if !has_generator && let Some((name, value)) = lines.first() {
                let line = [name.as_slice(), b" = ", value].concat();
                let line = String::from_utf8_lossy(&line).into_owned();
                return Err(refuse(&format!(
                    "{of_file} chooses a generator by the line `{line}`"
                )));
            }
        }
        let mut all_providers = all_of(b"providers");
        let mut default_section = None;
        let (mut is_any_active, mut own) = (false, (b"wellspring".to_vec(), false));
        for (key, value) in all_providers
            .iter()
            .flat_map(|providers| section(providers))
        {
            let lines = section(&value);
            let of = |name: &[u8]| lines.iter().find(|line| line.0 == name).map(|line| &line.1);
            let after_dot = key.rsplit(|&byte| byte == b'.').next().unwrap_or(&key);
            let identity = of(b"identity").map_or(after_dot, Vec::as_slice);
            let is_active = of(b"activate").is_some_and(|value| is_on(value, library));
            is_any_active |= is_active;
            match identity {
                b"fips" if is_active => {
                    return Err(refuse(&format!("{of_file} activates the FIPS provider")));
                }
                b"default" => default_section = Some(value.clone()),
                b"wellspring" => {
                    let is_same = of(b"module")
                        .is_some_and(|module| module == provider.as_os_str().as_bytes());
                    own = (key.clone(), is_active && is_same);
                }
                _ => {}
            }
        }
        if has_generator && own.1 {
            return Ok(None);
        }
        let mut modules_to_add = Entries::new();
        let mut sections = Vec::new();
        let pair = |name: &[u8], value: &[u8]| (name.to_vec(), value.to_vec());
        if !has_generator {
            // An empty section of theirs stays theirs: nothing is in it that could be lost.
            let random = all_of(b"random").pop().unwrap_or_else(|| RANDOM.to_vec());
            if random == RANDOM {
                modules_to_add.push(pair(b"random", RANDOM));
            }
            let lines = vec![
                pair(b"random", b"WELLSPRING"),
                pair(b"properties", b"provider=wellspring"),
            ];
            sections.push((random, lines));
        }
        let providers = all_providers.drain(..).next();
        let providers = providers.unwrap_or_else(|| {
            modules_to_add.push(pair(b"providers", b"wellspring_run_providers"));
            b"wellspring_run_providers".to_vec()
        });
        let mut providers_to_add = vec![(own.0, PROVIDER.to_vec())];
        if !is_any_active {
            // OpenSSL activates the default provider itself as long as no other is active.
            let default = default_section.unwrap_or_else(|| {
                providers_to_add.push(pair(b"default", b"wellspring_run_default"));
                b"wellspring_run_default".to_vec()
            });
            sections.push((default, vec![pair(b"activate", b"1")]));
        }
        let module = pair(b"module", provider.as_os_str().as_bytes());
        sections.push((PROVIDER.to_vec(), vec![module, pair(b"activate", b"1")]));
        sections.push((providers.clone(), providers_to_add));
        sections.push((libraries.clone(), modules_to_add));
        Ok(Some(Self {
            libraries,
            providers,
            sections,
            names_libraries: named.is_none(),
        }))
    }

    /// The file, which includes the present one.
    fn text(&self, present: Option<&Path>) -> Vec<u8> {
        let mut text = b"# Made by `wellspring run`: OpenSSL draws on wellspring, and all else is as in the file that it \
                         would read.\n# Programs that run may have its name: it can be removed when they have ended.\n"
            .to_vec();
        let mut line = |parts: &[&[u8]]| {
            text.extend(parts.concat());
            text.push(b'\n');
        };
        if let Some(present) = present {
            line(&[b".include ", &escaped(present.as_os_str().as_bytes())]);
        }
        if self.names_libraries {
            line(&[b"[ default ]"]);
            line(&[b"openssl_conf = ", &escaped(&self.libraries)]);
        }
        for (section, lines) in &self.sections {
            line(&[b"[ ", &escaped(section), b" ]"]);
            for (name, value) in lines {
                line(&[name, b" = ", &escaped(value)]);
            }
        }
        text
    }

    /// Whether OpenSSL finds all that was added, and still all that was there.
    fn is_in(&self, after: &Configuration<'_>, before: Option<&Configuration<'_>>) -> bool {
        let found = |name: &[u8], lines: &Entries| has_all(&after.section(name), lines);
        let added = self.sections.iter().all(|(name, lines)| found(name, lines));
        let kept = before.is_none_or(|before| {
            let of_providers =
                |entries: Entries| entries.into_iter().filter(|line| line.1 != PROVIDER);
            let own = &self
                .sections
                .iter()
                .find(|section| section.0 == self.providers);
            let is_own =
                |name: &[u8]| own.is_some_and(|own| own.1.iter().any(|line| line.0 == name));
            let providers = of_providers(before.section(&self.providers));
            found(&self.libraries, &before.section(&self.libraries))
                && found(
                    &self.providers,
                    &providers.filter(|line| !is_own(&line.0)).collect(),
                )
        });
        after.value(c"openssl_conf").as_ref() == Some(&self.libraries) && added && kept
    }
}

/// Whether a section has all of these lines. There may be 200,000 of both.
fn has_all<T: Eq + Hash>(section: &[T], lines: &[T]) -> bool {
    let section: HashSet<&T> = section.iter().collect();
    lines.iter().all(|line| section.contains(line))
}

/// Whether a line of the section of algorithms leaves only validated ones.
fn demands_fips(name: &[u8], value: &[u8]) -> bool {
    let value = String::from_utf8_lossy(value).to_lowercase();
    match name {
        b"fips_mode" => matches!(value.as_str(), "yes" | "y" | "true" | "on" | "1"),
        b"default_properties" => value.split(',').map(str::trim).any(|word| {
            let word: String = word.split_whitespace().collect();
            word.starts_with("fips") && !word.ends_with("=no") && word != "fips!=yes"
        }),
        _ => false,
    }
}

/// Whether a value of `activate` activates. Before OpenSSL 3.2 every one does.
fn is_on(value: &[u8], library: &LibCrypto) -> bool {
    let value = value.to_ascii_lowercase();
    library.version() < 0x3020_0000 || !matches!(value.as_slice(), b"0" | b"no" | b"off" | b"false")
}

/// A text as OpenSSL's configurations have it: in values, in the names of sections and of included files a backslash takes a
/// character as it is.
fn escaped(text: &[u8]) -> Vec<u8> {
    let mut escaped = Vec::with_capacity(text.len());
    for &byte in text {
        if !byte.is_ascii_alphanumeric() && !b" /._-=:,+".contains(&byte) {
            escaped.push(b'\\');
        }
        escaped.push(byte);
    }
    escaped
}

// OpenSSL's own reader of its configurations, of the library that programs here load: includes, variables, quotes and the rest
// of the format are as OpenSSL takes them.

/// The names of the library in OpenSSL 3 and 4.
const NAMES: [&CStr; 2] = [c"libcrypto.so.3", c"libcrypto.so.4"];

type NewConf = unsafe extern "C" fn(*const c_void) -> *mut c_void;
type LoadConf = unsafe extern "C" fn(*mut c_void, *const c_char, *mut c_long) -> c_int;
type GetString = unsafe extern "C" fn(*mut c_void, *const c_char, *const c_char) -> *const c_char;
type GetSection = unsafe extern "C" fn(*mut c_void, *const c_char) -> *const c_void;
type StackNumber = unsafe extern "C" fn(*const c_void) -> c_int;
type StackValue = unsafe extern "C" fn(*const c_void, c_int) -> *const Entry;
type DefaultFile = unsafe extern "C" fn() -> *const c_char;
type Version = unsafe extern "C" fn() -> c_ulong;

/// `CONF_VALUE` of OpenSSL's conf.h.
#[repr(C)]
struct Entry {
    section: *const c_char,
    name: *const c_char,
    value: *const c_char,
}

struct LibCrypto {
    new_conf: NewConf,
    load_conf: LoadConf,
    get_string: GetString,
    get_section: GetSection,
    stack_number: StackNumber,
    stack_value: StackValue,
    default_file: DefaultFile,
    version: Version,
}

/// Finds a function and gives it the type of the place where it goes.
macro_rules! function {
    ($library:ident, $name:literal, $kind:ty) => {{
        // SAFETY: a library that is open, and a name.
        let function = unsafe { libc::dlsym($library, $name.as_ptr()) };
        if function.is_null() {
            return None;
        }
        // SAFETY: OpenSSL's function of this name has this type, in all versions of 3 and 4.
        unsafe { std::mem::transmute::<*mut c_void, $kind>(function) }
    }};
}

impl LibCrypto {
    /// Loads the library, which reads no configuration for itself. `None` if it is not installed.
    pub(super) fn load() -> Option<Self> {
        let open = |name: &&CStr| {
            // SAFETY: a name. The library stays loaded.
            let library = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
            (!library.is_null()).then_some(library)
        };
        let library = NAMES.iter().find_map(open)?;
        Some(Self {
            new_conf: function!(library, c"NCONF_new", NewConf),
            load_conf: function!(library, c"NCONF_load", LoadConf),
            get_string: function!(library, c"NCONF_get_string", GetString),
            get_section: function!(library, c"NCONF_get_section", GetSection),
            stack_number: function!(library, c"OPENSSL_sk_num", StackNumber),
            stack_value: function!(library, c"OPENSSL_sk_value", StackValue),
            default_file: function!(library, c"CONF_get1_default_config_file", DefaultFile),
            version: function!(library, c"OpenSSL_version_num", Version),
        })
    }

    /// The file that OPENSSL_CONF names, or else the system's.
    fn default_file(&self) -> Option<PathBuf> {
        // SAFETY: it takes nothing, and returns null or a string, which nothing frees.
        let file = unsafe { text((self.default_file)()) }?;
        Some(PathBuf::from(std::ffi::OsString::from_vec(file)))
    }

    /// The version, as 0x30200000 for 3.2.0.
    pub(super) fn version(&self) -> c_ulong {
        // SAFETY: it takes nothing.
        unsafe { (self.version)() }
    }

    /// Reads a configuration, with all that it includes. The error is the number of the line, or 0 if the file cannot be opened.
    pub(super) fn read(&self, path: &Path) -> Result<Configuration<'_>, c_long> {
        let path = CString::new(path.as_os_str().as_bytes()).map_err(|_| 0)?;
        let mut line = 0;
        // SAFETY: a null pointer asks for the usual format; the path and the place of the number outlive the call. Nothing frees
        // the configuration, which this command reads once or twice.
        let (conf, is_read) = unsafe {
            let conf = (self.new_conf)(null());
            let is_read =
                !conf.is_null() && (self.load_conf)(conf, path.as_ptr(), &raw mut line) > 0;
            (conf, is_read)
        };
        let functions = self;
        is_read
            .then_some(Configuration { functions, conf })
            .ok_or(line.max(0))
    }
}

struct Configuration<'a> {
    functions: &'a LibCrypto,
    conf: *mut c_void,
}

impl Configuration<'_> {
    /// The value of a name above all sections.
    pub(super) fn value(&self, name: &CStr) -> Option<Vec<u8>> {
        // SAFETY: a configuration that was read, and a name; null stands for no section.
        unsafe {
            text((self.functions.get_string)(
                self.conf,
                null_mut(),
                name.as_ptr(),
            ))
        }
    }

    /// The names and values of a section, in order; none if there is no such section.
    pub(super) fn section(&self, name: &[u8]) -> Vec<(Vec<u8>, Vec<u8>)> {
        let Ok(name) = CString::new(name) else {
            return Vec::new();
        };
        // SAFETY: a configuration that was read and a name. The list, its entries and their strings live as long as the
        // configuration; a null list has the length -1.
        unsafe {
            let list = (self.functions.get_section)(self.conf, name.as_ptr());
            let entries = (0..(self.functions.stack_number)(list))
                .filter_map(|index| (self.functions.stack_value)(list, index).as_ref());
            let both =
                |entry: &Entry| Some((text(entry.name)?, text(entry.value).unwrap_or_default()));
            entries.filter_map(both).collect()
        }
    }
}

/// # Safety
///
/// `string` is null or a string.
unsafe fn text(string: *const c_char) -> Option<Vec<u8>> {
    // SAFETY: the same contract.
    (!string.is_null()).then(|| unsafe { CStr::from_ptr(string) }.to_bytes().to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hash::Hasher;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// With a comparison of each line with each line, 200,000 lines took more than a minute.
    #[test]
    fn lines_are_found_without_comparing_each_with_each() {
        static COMPARISONS: AtomicUsize = AtomicUsize::new(0);
        struct Line(usize);
        impl Hash for Line {
            fn hash<H: Hasher>(&self, state: &mut H) {
                self.0.hash(state);
            }
        }
        impl PartialEq for Line {
            fn eq(&self, other: &Self) -> bool {
                COMPARISONS.fetch_add(1, Ordering::Relaxed);
                self.0 == other.0
            }
        }
        impl Eq for Line {}
        let section: Vec<Line> = (0..20_000).map(Line).collect();
        let lines: Vec<Line> = (0..20_000).rev().map(Line).collect();
        assert!(has_all(&section, &lines));
        assert!(!has_all(&section, &[Line(7), Line(20_000)]));
        let comparisons = COMPARISONS.load(Ordering::Relaxed);
        assert!(comparisons < 200_000, "{comparisons}");
    }

    #[test]
    fn only_a_demand_for_validated_algorithms_is_one_for_fips() {
        for (name, value) in [
            ("default_properties", "fips=yes"),
            ("default_properties", "provider=x, fips = yes"),
            ("default_properties", "FIPS"),
            ("fips_mode", "yes"),
        ] {
            assert!(demands_fips(name.as_bytes(), value.as_bytes()), "{value}");
        }
        for (name, value) in [
            ("default_properties", "fips=no"),
            ("default_properties", "provider=default"),
            ("default_properties", "-fips"),
            ("default_properties", "?provider=tpm2"),
            ("fips_mode", "no"),
        ] {
            assert!(!demands_fips(name.as_bytes(), value.as_bytes()), "{value}");
        }
    }
}
