
using namespace System.Management.Automation
using namespace System.Management.Automation.Language

Register-ArgumentCompleter -Native -CommandName 'dsh' -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)

    $commandElements = $commandAst.CommandElements
    $command = @(
        'dsh'
        for ($i = 1; $i -lt $commandElements.Count; $i++) {
            $element = $commandElements[$i]
            if ($element -isnot [StringConstantExpressionAst] -or
                $element.StringConstantType -ne [StringConstantType]::BareWord -or
                $element.Value.StartsWith('-') -or
                $element.Value -eq $wordToComplete) {
                break
        }
        $element.Value
    }) -join ';'

    $completions = @(switch ($command) {
        'dsh' {
            [CompletionResult]::new('-C', '-C ', [CompletionResultType]::ParameterName, 'Work in this directory; it is the workspace root')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'Use colour; `auto` is on a terminal, unless NO_COLOR is set')
            [CompletionResult]::new('--log-format', '--log-format', [CompletionResultType]::ParameterName, 'Write the log on stderr as lines for people or as one JSON object a line')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Log more; repeat for still more. RUST_LOG wins')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Log more; repeat for still more. RUST_LOG wins')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('call', 'call', [CompletionResultType]::ParameterValue, 'Call one tool through the whole pipeline')
            [CompletionResult]::new('code', 'code', [CompletionResultType]::ParameterValue, 'Run a Code Mode program against the tools')
            [CompletionResult]::new('tools', 'tools', [CompletionResultType]::ParameterValue, 'Show what a model would see of the tools')
            [CompletionResult]::new('schema', 'schema', [CompletionResultType]::ParameterValue, 'Look at schemas: JSON lines in, JSON lines out')
            [CompletionResult]::new('completions', 'completions', [CompletionResultType]::ParameterValue, 'Print a completion script for a shell')
            [CompletionResult]::new('man', 'man', [CompletionResultType]::ParameterValue, 'Print the manual page')
            [CompletionResult]::new('doctor', 'doctor', [CompletionResultType]::ParameterValue, 'Say what this installation can do here')
            [CompletionResult]::new('help', 'help', [CompletionResultType]::ParameterValue, 'Print this message or the help of the given subcommand(s)')
            break
        }
        'dsh;call' {
            [CompletionResult]::new('-C', '-C ', [CompletionResultType]::ParameterName, 'Work in this directory; it is the workspace root')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'Use colour; `auto` is on a terminal, unless NO_COLOR is set')
            [CompletionResult]::new('--log-format', '--log-format', [CompletionResultType]::ParameterName, 'Write the log on stderr as lines for people or as one JSON object a line')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print the outcome as one JSON document')
            [CompletionResult]::new('--card', '--card', [CompletionResultType]::ParameterName, 'Print the finished call''s card as a terminal shows it')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Log more; repeat for still more. RUST_LOG wins')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Log more; repeat for still more. RUST_LOG wins')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            break
        }
        'dsh;code' {
            [CompletionResult]::new('-e', '-e', [CompletionResultType]::ParameterName, 'The program itself')
            [CompletionResult]::new('--expression', '--expression', [CompletionResultType]::ParameterName, 'The program itself')
            [CompletionResult]::new('--compute-ms', '--compute-ms', [CompletionResultType]::ParameterName, 'Let the program be busy for so many milliseconds [default: 60000]')
            [CompletionResult]::new('--wall-ms', '--wall-ms', [CompletionResultType]::ParameterName, 'Let it take so many milliseconds in all [default: 600000]')
            [CompletionResult]::new('--memory-mb', '--memory-mb', [CompletionResultType]::ParameterName, 'Let it hold so many MiB of memory [default: 512]')
            [CompletionResult]::new('--output-bytes', '--output-bytes', [CompletionResultType]::ParameterName, 'Let its logs and its value be so many bytes of JSON [default: 67108864]')
            [CompletionResult]::new('-C', '-C ', [CompletionResultType]::ParameterName, 'Work in this directory; it is the workspace root')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'Use colour; `auto` is on a terminal, unless NO_COLOR is set')
            [CompletionResult]::new('--log-format', '--log-format', [CompletionResultType]::ParameterName, 'Write the log on stderr as lines for people or as one JSON object a line')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print one JSON document: value, logs, calls, and what happened besides')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Log more; repeat for still more. RUST_LOG wins')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Log more; repeat for still more. RUST_LOG wins')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            break
        }
        'dsh;tools' {
            [CompletionResult]::new('-C', '-C ', [CompletionResultType]::ParameterName, 'Work in this directory; it is the workspace root')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'Use colour; `auto` is on a terminal, unless NO_COLOR is set')
            [CompletionResult]::new('--log-format', '--log-format', [CompletionResultType]::ParameterName, 'Write the log on stderr as lines for people or as one JSON object a line')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print the schemas, as one JSON array')
            [CompletionResult]::new('--ts', '--ts', [CompletionResultType]::ParameterName, 'Print the TypeScript declarations of the Code Mode SDK')
            [CompletionResult]::new('--py', '--py', [CompletionResultType]::ParameterName, 'Print the Python declarations of the Code Mode SDK')
            [CompletionResult]::new('--markdown', '--markdown', [CompletionResultType]::ParameterName, 'Print the catalogue document of every shipped tool')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Log more; repeat for still more. RUST_LOG wins')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Log more; repeat for still more. RUST_LOG wins')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            break
        }
        'dsh;schema' {
            [CompletionResult]::new('-C', '-C ', [CompletionResultType]::ParameterName, 'Work in this directory; it is the workspace root')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'Use colour; `auto` is on a terminal, unless NO_COLOR is set')
            [CompletionResult]::new('--log-format', '--log-format', [CompletionResultType]::ParameterName, 'Write the log on stderr as lines for people or as one JSON object a line')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Log more; repeat for still more. RUST_LOG wins')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Log more; repeat for still more. RUST_LOG wins')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('check', 'check', [CompletionResultType]::ParameterValue, 'Say what becomes of each schema: the enforced subset, a foreign contract, or a refusal')
            [CompletionResult]::new('validate', 'validate', [CompletionResultType]::ParameterValue, 'Say whether each value satisfies its schema')
            [CompletionResult]::new('ts', 'ts', [CompletionResultType]::ParameterValue, 'Print each schema''s TypeScript')
            [CompletionResult]::new('help', 'help', [CompletionResultType]::ParameterValue, 'Print this message or the help of the given subcommand(s)')
            break
        }
        'dsh;schema;check' {
            [CompletionResult]::new('-C', '-C ', [CompletionResultType]::ParameterName, 'Work in this directory; it is the workspace root')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'Use colour; `auto` is on a terminal, unless NO_COLOR is set')
            [CompletionResult]::new('--log-format', '--log-format', [CompletionResultType]::ParameterName, 'Write the log on stderr as lines for people or as one JSON object a line')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Log more; repeat for still more. RUST_LOG wins')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Log more; repeat for still more. RUST_LOG wins')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            break
        }
        'dsh;schema;validate' {
            [CompletionResult]::new('-C', '-C ', [CompletionResultType]::ParameterName, 'Work in this directory; it is the workspace root')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'Use colour; `auto` is on a terminal, unless NO_COLOR is set')
            [CompletionResult]::new('--log-format', '--log-format', [CompletionResultType]::ParameterName, 'Write the log on stderr as lines for people or as one JSON object a line')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Log more; repeat for still more. RUST_LOG wins')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Log more; repeat for still more. RUST_LOG wins')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            break
        }
        'dsh;schema;ts' {
            [CompletionResult]::new('-C', '-C ', [CompletionResultType]::ParameterName, 'Work in this directory; it is the workspace root')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'Use colour; `auto` is on a terminal, unless NO_COLOR is set')
            [CompletionResult]::new('--log-format', '--log-format', [CompletionResultType]::ParameterName, 'Write the log on stderr as lines for people or as one JSON object a line')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Log more; repeat for still more. RUST_LOG wins')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Log more; repeat for still more. RUST_LOG wins')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            break
        }
        'dsh;schema;help' {
            [CompletionResult]::new('check', 'check', [CompletionResultType]::ParameterValue, 'Say what becomes of each schema: the enforced subset, a foreign contract, or a refusal')
            [CompletionResult]::new('validate', 'validate', [CompletionResultType]::ParameterValue, 'Say whether each value satisfies its schema')
            [CompletionResult]::new('ts', 'ts', [CompletionResultType]::ParameterValue, 'Print each schema''s TypeScript')
            [CompletionResult]::new('help', 'help', [CompletionResultType]::ParameterValue, 'Print this message or the help of the given subcommand(s)')
            break
        }
        'dsh;schema;help;check' {
            break
        }
        'dsh;schema;help;validate' {
            break
        }
        'dsh;schema;help;ts' {
            break
        }
        'dsh;schema;help;help' {
            break
        }
        'dsh;completions' {
            [CompletionResult]::new('-C', '-C ', [CompletionResultType]::ParameterName, 'Work in this directory; it is the workspace root')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'Use colour; `auto` is on a terminal, unless NO_COLOR is set')
            [CompletionResult]::new('--log-format', '--log-format', [CompletionResultType]::ParameterName, 'Write the log on stderr as lines for people or as one JSON object a line')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Log more; repeat for still more. RUST_LOG wins')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Log more; repeat for still more. RUST_LOG wins')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            break
        }
        'dsh;man' {
            [CompletionResult]::new('-C', '-C ', [CompletionResultType]::ParameterName, 'Work in this directory; it is the workspace root')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'Use colour; `auto` is on a terminal, unless NO_COLOR is set')
            [CompletionResult]::new('--log-format', '--log-format', [CompletionResultType]::ParameterName, 'Write the log on stderr as lines for people or as one JSON object a line')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Log more; repeat for still more. RUST_LOG wins')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Log more; repeat for still more. RUST_LOG wins')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            break
        }
        'dsh;doctor' {
            [CompletionResult]::new('-C', '-C ', [CompletionResultType]::ParameterName, 'Work in this directory; it is the workspace root')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'Use colour; `auto` is on a terminal, unless NO_COLOR is set')
            [CompletionResult]::new('--log-format', '--log-format', [CompletionResultType]::ParameterName, 'Write the log on stderr as lines for people or as one JSON object a line')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print one JSON document')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Log more; repeat for still more. RUST_LOG wins')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Log more; repeat for still more. RUST_LOG wins')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            break
        }
        'dsh;help' {
            [CompletionResult]::new('call', 'call', [CompletionResultType]::ParameterValue, 'Call one tool through the whole pipeline')
            [CompletionResult]::new('code', 'code', [CompletionResultType]::ParameterValue, 'Run a Code Mode program against the tools')
            [CompletionResult]::new('tools', 'tools', [CompletionResultType]::ParameterValue, 'Show what a model would see of the tools')
            [CompletionResult]::new('schema', 'schema', [CompletionResultType]::ParameterValue, 'Look at schemas: JSON lines in, JSON lines out')
            [CompletionResult]::new('completions', 'completions', [CompletionResultType]::ParameterValue, 'Print a completion script for a shell')
            [CompletionResult]::new('man', 'man', [CompletionResultType]::ParameterValue, 'Print the manual page')
            [CompletionResult]::new('doctor', 'doctor', [CompletionResultType]::ParameterValue, 'Say what this installation can do here')
            [CompletionResult]::new('help', 'help', [CompletionResultType]::ParameterValue, 'Print this message or the help of the given subcommand(s)')
            break
        }
        'dsh;help;call' {
            break
        }
        'dsh;help;code' {
            break
        }
        'dsh;help;tools' {
            break
        }
        'dsh;help;schema' {
            [CompletionResult]::new('check', 'check', [CompletionResultType]::ParameterValue, 'Say what becomes of each schema: the enforced subset, a foreign contract, or a refusal')
            [CompletionResult]::new('validate', 'validate', [CompletionResultType]::ParameterValue, 'Say whether each value satisfies its schema')
            [CompletionResult]::new('ts', 'ts', [CompletionResultType]::ParameterValue, 'Print each schema''s TypeScript')
            break
        }
        'dsh;help;schema;check' {
            break
        }
        'dsh;help;schema;validate' {
            break
        }
        'dsh;help;schema;ts' {
            break
        }
        'dsh;help;completions' {
            break
        }
        'dsh;help;man' {
            break
        }
        'dsh;help;doctor' {
            break
        }
        'dsh;help;help' {
            break
        }
    })

    $completions.Where{ $_.CompletionText -like "$wordToComplete*" } |
        Sort-Object -Property ListItemText
}
