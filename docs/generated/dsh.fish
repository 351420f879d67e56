# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_dsh_global_optspecs
    string join \n C= color= log-format= v/verbose h/help V/version
end

function __fish_dsh_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_dsh_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_dsh_using_subcommand
    set -l cmd (__fish_dsh_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c dsh -n "__fish_dsh_needs_command" -s C -d 'Work in this directory; it is the workspace root' -r -f -a "(__fish_complete_directories)"
complete -c dsh -n "__fish_dsh_needs_command" -l color -d 'Use colour; `auto` is on a terminal, unless NO_COLOR is set' -r -f -a "auto\t''
always\t''
never\t''"
complete -c dsh -n "__fish_dsh_needs_command" -l log-format -d 'Write the log on stderr as lines for people or as one JSON object a line' -r -f -a "text\t''
json\t''"
complete -c dsh -n "__fish_dsh_needs_command" -s v -l verbose -d 'Log more; repeat for still more. RUST_LOG wins'
complete -c dsh -n "__fish_dsh_needs_command" -s h -l help -d 'Print help'
complete -c dsh -n "__fish_dsh_needs_command" -s V -l version -d 'Print version'
complete -c dsh -n "__fish_dsh_needs_command" -f -a "call" -d 'Call one tool through the whole pipeline'
complete -c dsh -n "__fish_dsh_needs_command" -f -a "code" -d 'Run a Code Mode program against the tools'
complete -c dsh -n "__fish_dsh_needs_command" -f -a "tools" -d 'Show what a model would see of the tools'
complete -c dsh -n "__fish_dsh_needs_command" -f -a "schema" -d 'Look at schemas: JSON lines in, JSON lines out'
complete -c dsh -n "__fish_dsh_needs_command" -f -a "completions" -d 'Print a completion script for a shell'
complete -c dsh -n "__fish_dsh_needs_command" -f -a "man" -d 'Print the manual page'
complete -c dsh -n "__fish_dsh_needs_command" -f -a "doctor" -d 'Say what this installation can do here'
complete -c dsh -n "__fish_dsh_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c dsh -n "__fish_dsh_using_subcommand call" -s C -d 'Work in this directory; it is the workspace root' -r -f -a "(__fish_complete_directories)"
complete -c dsh -n "__fish_dsh_using_subcommand call" -l color -d 'Use colour; `auto` is on a terminal, unless NO_COLOR is set' -r -f -a "auto\t''
always\t''
never\t''"
complete -c dsh -n "__fish_dsh_using_subcommand call" -l log-format -d 'Write the log on stderr as lines for people or as one JSON object a line' -r -f -a "text\t''
json\t''"
complete -c dsh -n "__fish_dsh_using_subcommand call" -l json -d 'Print the outcome as one JSON document'
complete -c dsh -n "__fish_dsh_using_subcommand call" -l card -d 'Print the finished call\'s card as a terminal shows it'
complete -c dsh -n "__fish_dsh_using_subcommand call" -s v -l verbose -d 'Log more; repeat for still more. RUST_LOG wins'
complete -c dsh -n "__fish_dsh_using_subcommand call" -s h -l help -d 'Print help'
complete -c dsh -n "__fish_dsh_using_subcommand code" -s e -l expression -d 'The program itself' -r
complete -c dsh -n "__fish_dsh_using_subcommand code" -l compute-ms -d 'Let the program be busy for so many milliseconds [default: 60000]' -r
complete -c dsh -n "__fish_dsh_using_subcommand code" -l wall-ms -d 'Let it take so many milliseconds in all [default: 600000]' -r
complete -c dsh -n "__fish_dsh_using_subcommand code" -l memory-mb -d 'Let it hold so many MiB of memory [default: 512]' -r
complete -c dsh -n "__fish_dsh_using_subcommand code" -l output-bytes -d 'Let its logs and its value be so many bytes of JSON [default: 67108864]' -r
complete -c dsh -n "__fish_dsh_using_subcommand code" -s C -d 'Work in this directory; it is the workspace root' -r -f -a "(__fish_complete_directories)"
complete -c dsh -n "__fish_dsh_using_subcommand code" -l color -d 'Use colour; `auto` is on a terminal, unless NO_COLOR is set' -r -f -a "auto\t''
always\t''
never\t''"
complete -c dsh -n "__fish_dsh_using_subcommand code" -l log-format -d 'Write the log on stderr as lines for people or as one JSON object a line' -r -f -a "text\t''
json\t''"
complete -c dsh -n "__fish_dsh_using_subcommand code" -l json -d 'Print one JSON document: value, logs, calls, and what happened besides'
complete -c dsh -n "__fish_dsh_using_subcommand code" -s v -l verbose -d 'Log more; repeat for still more. RUST_LOG wins'
complete -c dsh -n "__fish_dsh_using_subcommand code" -s h -l help -d 'Print help'
complete -c dsh -n "__fish_dsh_using_subcommand tools" -s C -d 'Work in this directory; it is the workspace root' -r -f -a "(__fish_complete_directories)"
complete -c dsh -n "__fish_dsh_using_subcommand tools" -l color -d 'Use colour; `auto` is on a terminal, unless NO_COLOR is set' -r -f -a "auto\t''
always\t''
never\t''"
complete -c dsh -n "__fish_dsh_using_subcommand tools" -l log-format -d 'Write the log on stderr as lines for people or as one JSON object a line' -r -f -a "text\t''
json\t''"
complete -c dsh -n "__fish_dsh_using_subcommand tools" -l json -d 'Print the schemas, as one JSON array'
complete -c dsh -n "__fish_dsh_using_subcommand tools" -l ts -d 'Print the TypeScript declarations of the Code Mode SDK'
complete -c dsh -n "__fish_dsh_using_subcommand tools" -l py -d 'Print the Python declarations of the Code Mode SDK'
complete -c dsh -n "__fish_dsh_using_subcommand tools" -l markdown -d 'Print the catalogue document of every shipped tool'
complete -c dsh -n "__fish_dsh_using_subcommand tools" -s v -l verbose -d 'Log more; repeat for still more. RUST_LOG wins'
complete -c dsh -n "__fish_dsh_using_subcommand tools" -s h -l help -d 'Print help'
complete -c dsh -n "__fish_dsh_using_subcommand schema; and not __fish_seen_subcommand_from check validate ts help" -s C -d 'Work in this directory; it is the workspace root' -r -f -a "(__fish_complete_directories)"
complete -c dsh -n "__fish_dsh_using_subcommand schema; and not __fish_seen_subcommand_from check validate ts help" -l color -d 'Use colour; `auto` is on a terminal, unless NO_COLOR is set' -r -f -a "auto\t''
always\t''
never\t''"
complete -c dsh -n "__fish_dsh_using_subcommand schema; and not __fish_seen_subcommand_from check validate ts help" -l log-format -d 'Write the log on stderr as lines for people or as one JSON object a line' -r -f -a "text\t''
json\t''"
complete -c dsh -n "__fish_dsh_using_subcommand schema; and not __fish_seen_subcommand_from check validate ts help" -s v -l verbose -d 'Log more; repeat for still more. RUST_LOG wins'
complete -c dsh -n "__fish_dsh_using_subcommand schema; and not __fish_seen_subcommand_from check validate ts help" -s h -l help -d 'Print help'
complete -c dsh -n "__fish_dsh_using_subcommand schema; and not __fish_seen_subcommand_from check validate ts help" -f -a "check" -d 'Say what becomes of each schema: the enforced subset, a foreign contract, or a refusal'
complete -c dsh -n "__fish_dsh_using_subcommand schema; and not __fish_seen_subcommand_from check validate ts help" -f -a "validate" -d 'Say whether each value satisfies its schema'
complete -c dsh -n "__fish_dsh_using_subcommand schema; and not __fish_seen_subcommand_from check validate ts help" -f -a "ts" -d 'Print each schema\'s TypeScript'
complete -c dsh -n "__fish_dsh_using_subcommand schema; and not __fish_seen_subcommand_from check validate ts help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c dsh -n "__fish_dsh_using_subcommand schema; and __fish_seen_subcommand_from check" -s C -d 'Work in this directory; it is the workspace root' -r -f -a "(__fish_complete_directories)"
complete -c dsh -n "__fish_dsh_using_subcommand schema; and __fish_seen_subcommand_from check" -l color -d 'Use colour; `auto` is on a terminal, unless NO_COLOR is set' -r -f -a "auto\t''
always\t''
never\t''"
complete -c dsh -n "__fish_dsh_using_subcommand schema; and __fish_seen_subcommand_from check" -l log-format -d 'Write the log on stderr as lines for people or as one JSON object a line' -r -f -a "text\t''
json\t''"
complete -c dsh -n "__fish_dsh_using_subcommand schema; and __fish_seen_subcommand_from check" -s v -l verbose -d 'Log more; repeat for still more. RUST_LOG wins'
complete -c dsh -n "__fish_dsh_using_subcommand schema; and __fish_seen_subcommand_from check" -s h -l help -d 'Print help'
complete -c dsh -n "__fish_dsh_using_subcommand schema; and __fish_seen_subcommand_from validate" -s C -d 'Work in this directory; it is the workspace root' -r -f -a "(__fish_complete_directories)"
complete -c dsh -n "__fish_dsh_using_subcommand schema; and __fish_seen_subcommand_from validate" -l color -d 'Use colour; `auto` is on a terminal, unless NO_COLOR is set' -r -f -a "auto\t''
always\t''
never\t''"
complete -c dsh -n "__fish_dsh_using_subcommand schema; and __fish_seen_subcommand_from validate" -l log-format -d 'Write the log on stderr as lines for people or as one JSON object a line' -r -f -a "text\t''
json\t''"
complete -c dsh -n "__fish_dsh_using_subcommand schema; and __fish_seen_subcommand_from validate" -s v -l verbose -d 'Log more; repeat for still more. RUST_LOG wins'
complete -c dsh -n "__fish_dsh_using_subcommand schema; and __fish_seen_subcommand_from validate" -s h -l help -d 'Print help'
complete -c dsh -n "__fish_dsh_using_subcommand schema; and __fish_seen_subcommand_from ts" -s C -d 'Work in this directory; it is the workspace root' -r -f -a "(__fish_complete_directories)"
complete -c dsh -n "__fish_dsh_using_subcommand schema; and __fish_seen_subcommand_from ts" -l color -d 'Use colour; `auto` is on a terminal, unless NO_COLOR is set' -r -f -a "auto\t''
always\t''
never\t''"
complete -c dsh -n "__fish_dsh_using_subcommand schema; and __fish_seen_subcommand_from ts" -l log-format -d 'Write the log on stderr as lines for people or as one JSON object a line' -r -f -a "text\t''
json\t''"
complete -c dsh -n "__fish_dsh_using_subcommand schema; and __fish_seen_subcommand_from ts" -s v -l verbose -d 'Log more; repeat for still more. RUST_LOG wins'
complete -c dsh -n "__fish_dsh_using_subcommand schema; and __fish_seen_subcommand_from ts" -s h -l help -d 'Print help'
complete -c dsh -n "__fish_dsh_using_subcommand schema; and __fish_seen_subcommand_from help" -f -a "check" -d 'Say what becomes of each schema: the enforced subset, a foreign contract, or a refusal'
complete -c dsh -n "__fish_dsh_using_subcommand schema; and __fish_seen_subcommand_from help" -f -a "validate" -d 'Say whether each value satisfies its schema'
complete -c dsh -n "__fish_dsh_using_subcommand schema; and __fish_seen_subcommand_from help" -f -a "ts" -d 'Print each schema\'s TypeScript'
complete -c dsh -n "__fish_dsh_using_subcommand schema; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c dsh -n "__fish_dsh_using_subcommand completions" -s C -d 'Work in this directory; it is the workspace root' -r -f -a "(__fish_complete_directories)"
complete -c dsh -n "__fish_dsh_using_subcommand completions" -l color -d 'Use colour; `auto` is on a terminal, unless NO_COLOR is set' -r -f -a "auto\t''
always\t''
never\t''"
complete -c dsh -n "__fish_dsh_using_subcommand completions" -l log-format -d 'Write the log on stderr as lines for people or as one JSON object a line' -r -f -a "text\t''
json\t''"
complete -c dsh -n "__fish_dsh_using_subcommand completions" -s v -l verbose -d 'Log more; repeat for still more. RUST_LOG wins'
complete -c dsh -n "__fish_dsh_using_subcommand completions" -s h -l help -d 'Print help'
complete -c dsh -n "__fish_dsh_using_subcommand man" -s C -d 'Work in this directory; it is the workspace root' -r -f -a "(__fish_complete_directories)"
complete -c dsh -n "__fish_dsh_using_subcommand man" -l color -d 'Use colour; `auto` is on a terminal, unless NO_COLOR is set' -r -f -a "auto\t''
always\t''
never\t''"
complete -c dsh -n "__fish_dsh_using_subcommand man" -l log-format -d 'Write the log on stderr as lines for people or as one JSON object a line' -r -f -a "text\t''
json\t''"
complete -c dsh -n "__fish_dsh_using_subcommand man" -s v -l verbose -d 'Log more; repeat for still more. RUST_LOG wins'
complete -c dsh -n "__fish_dsh_using_subcommand man" -s h -l help -d 'Print help'
complete -c dsh -n "__fish_dsh_using_subcommand doctor" -s C -d 'Work in this directory; it is the workspace root' -r -f -a "(__fish_complete_directories)"
complete -c dsh -n "__fish_dsh_using_subcommand doctor" -l color -d 'Use colour; `auto` is on a terminal, unless NO_COLOR is set' -r -f -a "auto\t''
always\t''
never\t''"
complete -c dsh -n "__fish_dsh_using_subcommand doctor" -l log-format -d 'Write the log on stderr as lines for people or as one JSON object a line' -r -f -a "text\t''
json\t''"
complete -c dsh -n "__fish_dsh_using_subcommand doctor" -l json -d 'Print one JSON document'
complete -c dsh -n "__fish_dsh_using_subcommand doctor" -s v -l verbose -d 'Log more; repeat for still more. RUST_LOG wins'
complete -c dsh -n "__fish_dsh_using_subcommand doctor" -s h -l help -d 'Print help'
complete -c dsh -n "__fish_dsh_using_subcommand help; and not __fish_seen_subcommand_from call code tools schema completions man doctor help" -f -a "call" -d 'Call one tool through the whole pipeline'
complete -c dsh -n "__fish_dsh_using_subcommand help; and not __fish_seen_subcommand_from call code tools schema completions man doctor help" -f -a "code" -d 'Run a Code Mode program against the tools'
complete -c dsh -n "__fish_dsh_using_subcommand help; and not __fish_seen_subcommand_from call code tools schema completions man doctor help" -f -a "tools" -d 'Show what a model would see of the tools'
complete -c dsh -n "__fish_dsh_using_subcommand help; and not __fish_seen_subcommand_from call code tools schema completions man doctor help" -f -a "schema" -d 'Look at schemas: JSON lines in, JSON lines out'
complete -c dsh -n "__fish_dsh_using_subcommand help; and not __fish_seen_subcommand_from call code tools schema completions man doctor help" -f -a "completions" -d 'Print a completion script for a shell'
complete -c dsh -n "__fish_dsh_using_subcommand help; and not __fish_seen_subcommand_from call code tools schema completions man doctor help" -f -a "man" -d 'Print the manual page'
complete -c dsh -n "__fish_dsh_using_subcommand help; and not __fish_seen_subcommand_from call code tools schema completions man doctor help" -f -a "doctor" -d 'Say what this installation can do here'
complete -c dsh -n "__fish_dsh_using_subcommand help; and not __fish_seen_subcommand_from call code tools schema completions man doctor help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c dsh -n "__fish_dsh_using_subcommand help; and __fish_seen_subcommand_from schema" -f -a "check" -d 'Say what becomes of each schema: the enforced subset, a foreign contract, or a refusal'
complete -c dsh -n "__fish_dsh_using_subcommand help; and __fish_seen_subcommand_from schema" -f -a "validate" -d 'Say whether each value satisfies its schema'
complete -c dsh -n "__fish_dsh_using_subcommand help; and __fish_seen_subcommand_from schema" -f -a "ts" -d 'Print each schema\'s TypeScript'
