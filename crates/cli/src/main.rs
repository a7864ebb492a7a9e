//! The program `ropewalk`.

fn main() -> std::process::ExitCode {
    ropewalk_cli::main()
}
