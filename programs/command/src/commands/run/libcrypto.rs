//! OpenSSL's own reader of its configurations, of the library that programs here load: includes, variables, quotes and the rest
//! of the format are as OpenSSL takes them.

use std::ffi::{CStr, CString, c_char, c_int, c_long, c_ulong, c_void};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::ptr::{null, null_mut};

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

/// The functions of the library.
pub(super) struct LibCrypto {
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
    /// Loads the library. `None` where there is none. It reads no configuration for itself.
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
    pub(super) fn default_file(&self) -> Option<PathBuf> {
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

/// A configuration that was read.
pub(super) struct Configuration<'a> {
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
