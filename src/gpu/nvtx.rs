//! Ranges of operations and marks of phases for profilers, by the protocol of NVTX 3.
//!
//! A profiler, such as Nsight Systems, names its library in the variable `NVTX_INJECTION64_PATH`. In: that library. Its
//! function `InitializeInjectionNvtx2` gets a function that returns tables, and writes the addresses of its own
//! functions to them. Out: calls of these functions for each operation and each phase.
//! NVIDIA's headers do the same in C. The library is never unloaded.
//! Cost without a profiler: an atomic load per operation and phase.
//! Source: NVTX 3, `nvtxDetail/nvtxInit.h` and `nvtxTypes.h`, <https://github.com/NVIDIA/NVTX>.

#![allow(unsafe_code)] // The functions of a profiler are those of a C library.

use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::marker::PhantomData;
use std::os::unix::ffi::OsStrExt;
use std::ptr::{self, null, null_mut};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering::Relaxed};

/// The variable for the profiler's library.
const VARIABLE: &str = "NVTX_INJECTION64_PATH";
/// The version of the protocol.
const VERSION: u32 = 3;

/// The number of functions of each module, counting the unused number 0: none, core, CUDA, OpenCL, CUDA runtime,
/// domains (core 2) and synchronization.
const FUNCTIONS: [usize; 7] = [0, 16, 9, 15, 7, 16, 7];
/// The module of the functions below.
const CORE: usize = 1;
const MARK: usize = 2;
const RANGE_PUSH: usize = 9;
const RANGE_POP: usize = 11;

/// The numbers of the tables of functions and of the version.
const CALLBACKS: u32 = 1;
const VERSION_INFO: u32 = 3;

/// A function of the profiler; null until it has set one.
type Slot = AtomicPtr<c_void>;

/// The functions of a module, and their addresses as the profiler gets them: null, the functions from number 1 on,
/// null.
struct Module {
    functions: &'static [Slot],
    addresses: &'static [AtomicPtr<Slot>],
}

impl Module {
    fn new(functions: usize) -> Self {
        let functions: &[Slot] = Vec::leak((0..functions).map(|_| Slot::new(null_mut())).collect());
        let address = |at: usize| match functions.get(at) {
            Some(slot) if at > 0 => ptr::from_ref(slot).cast_mut(),
            _ => null_mut(),
        };
        let addresses = Vec::leak((0..=functions.len()).map(|at| AtomicPtr::new(address(at))).collect());
        Self { functions, addresses }
    }
}

/// The functions of all modules. Their memory is never freed or moved.
fn modules() -> &'static [Module; 7] {
    static MODULES: OnceLock<[Module; 7]> = OnceLock::new();
    MODULES.get_or_init(|| FUNCTIONS.map(Module::new))
}

/// `NvtxExportTableCallbacks` of NVTX.
#[repr(C)]
struct Callbacks {
    size: usize,
    module: extern "C" fn(c_int, *mut *const AtomicPtr<Slot>, *mut c_uint) -> c_int,
}

/// `NvtxExportTableVersionInfo` of NVTX.
#[repr(C)]
struct VersionInfo {
    size: usize,
    version: u32,
    reserved: u32,
    set_version: extern "C" fn(u32),
}

/// Returns the functions of a module and their number. Returns 0 if the module is unknown.
extern "C" fn module(number: c_int, table: *mut *const AtomicPtr<Slot>, size: *mut c_uint) -> c_int {
    let known = usize::try_from(number).ok().filter(|&number| number > 0).and_then(|number| modules().get(number));
    let Some(module) = known else { return 0 };
    // SAFETY: the protocol requires both pointers to be null or valid for a write, and null is checked here.
    unsafe {
        if !size.is_null() {
            *size = module.functions.len() as c_uint;
        }
        if !table.is_null() {
            *table = module.addresses.as_ptr();
        }
    }
    1
}

/// The profiler's version, which is not used.
extern "C" fn set_version(_version: u32) {}

/// Returns a table by its number, or null if it is unknown.
extern "C" fn export_table(number: u32) -> *const c_void {
    static CALLBACK_TABLE: Callbacks = Callbacks { size: size_of::<Callbacks>(), module };
    static VERSION_TABLE: VersionInfo =
        VersionInfo { size: size_of::<VersionInfo>(), version: VERSION, reserved: 0, set_version };
    match number {
        CALLBACKS => ptr::from_ref(&CALLBACK_TABLE).cast(),
        VERSION_INFO => ptr::from_ref(&VERSION_TABLE).cast(),
        _ => null(),
    }
}

/// Loads the profiler's library. Returns `false` if no library is named, or if it does not start.
fn load() -> bool {
    type Initialize = extern "C" fn(extern "C" fn(u32) -> *const c_void) -> c_int;
    let path = std::env::var_os(VARIABLE).and_then(|path| CString::new(path.as_bytes()).ok());
    let Some(path) = path.filter(|path| !path.is_empty()) else { return false };
    // SAFETY: the path is a C string. Loading runs the initialization code of a library that the user or a profiler
    // named.
    let library = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_LAZY) };
    if library.is_null() {
        return false;
    }
    // SAFETY: the handle is that of a loaded library, and the name is a C string.
    let symbol = unsafe { libc::dlsym(library, c"InitializeInjectionNvtx2".as_ptr()) };
    if symbol.is_null() {
        return false;
    }
    // SAFETY: the protocol defines the type of the function with this name, and it is not null.
    let initialize = unsafe { std::mem::transmute::<*mut c_void, Initialize>(symbol) };
    initialize(export_table) != 0
}

/// Returns `true` if a profiler listens. The first call loads its library.
pub(in crate::gpu) fn is_active() -> bool {
    static ACTIVE: OnceLock<bool> = OnceLock::new();
    *ACTIVE.get_or_init(load)
}

/// Calls a function of the profiler that takes a text, if it has one. `Out` is the type of its result.
///
/// # Safety
/// The profiler's function with this number takes a C string and returns an `Out`.
unsafe fn call_with<Out>(function: usize, text: &CStr) {
    let address = modules()[CORE].functions[function].load(Relaxed);
    if !address.is_null() {
        // SAFETY: the profiler wrote the address of its function with this number, and the caller guarantees its type.
        let call = unsafe { std::mem::transmute::<*mut c_void, extern "C" fn(*const c_char) -> Out>(address) };
        call(text.as_ptr());
    }
}

/// Marks a point in time: the end of a phase.
pub(in crate::gpu) fn mark(name: &str) {
    if is_active()
        && let Ok(name) = CString::new(name)
    {
        // SAFETY: `void nvtxMarkA(const char*)`.
        unsafe { call_with::<()>(MARK, &name) };
    }
}

/// The range of an operation, which ends when this is dropped. Ranges of a thread are nested.
#[must_use]
pub(in crate::gpu) struct Range(PhantomData<*const ()>);

impl Range {
    /// Begins the range of the function that contains `_marker`, an empty function.
    pub fn of<F>(module: &str, _marker: F) -> Option<Self> {
        if !is_active() {
            return None;
        }
        let name = CString::new(format!("{module}::{}", function_around(std::any::type_name::<F>()))).ok()?;
        // SAFETY: `int nvtxRangePushA(const char*)`.
        unsafe { call_with::<c_int>(RANGE_PUSH, &name) };
        Some(Self(PhantomData))
    }
}

impl Drop for Range {
    fn drop(&mut self) {
        let address = modules()[CORE].functions[RANGE_POP].load(Relaxed);
        if !address.is_null() {
            // SAFETY: the profiler wrote the address of its function with this number, `int` without parameters.
            let pop = unsafe { std::mem::transmute::<*mut c_void, extern "C" fn() -> c_int>(address) };
            pop();
        }
    }
}

/// The name of the function around an inner function with the given path.
fn function_around(path: &str) -> &str {
    path.rsplit("::").filter(|part| !part.starts_with("{{")).nth(1).unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Type<T>(PhantomData<T>);

    impl<T> Type<T> {
        fn method<U>(&self, _other: U) -> &'static str {
            let name = || {
                fn marker() {}
                function_around(std::any::type_name_of_val(&marker))
            };
            name()
        }
    }

    #[test]
    fn names_of_functions() {
        assert_eq!(Type::<[f32; 2]>(PhantomData).method(Some("text")), "method");
        assert_eq!(function_around("marker"), "marker");
    }

    #[test]
    fn tables_have_the_layout_of_nvtx() {
        // SAFETY: the number is that of this table.
        let callbacks = unsafe { &*export_table(CALLBACKS).cast::<Callbacks>() };
        assert_eq!(callbacks.size, 16);
        for (number, functions) in (0..).zip([0, 16, 9, 15, 7, 16, 7, 0]) {
            let (mut table, mut size) = (null(), 0);
            let known = (callbacks.module)(number, &mut table, &mut size) != 0;
            assert_eq!((known, size), (functions > 0, functions), "module {number}");
            for at in 0..if known { functions + 1 } else { 0 } {
                // SAFETY: the table has an entry more than functions.
                let slot = unsafe { &*table.add(at as usize) }.load(Relaxed);
                assert_eq!(slot.is_null(), at == 0 || at == functions, "module {number}, function {at}");
            }
        }
        assert!(
            (callbacks.module)(-1, null_mut(), null_mut()) == 0 && (callbacks.module)(1, null_mut(), null_mut()) == 1
        );
        assert!(export_table(0).is_null() && export_table(2).is_null());
    }
}
