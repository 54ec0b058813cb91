/** `filemill completion`: a script for bash, zsh, fish or PowerShell that completes commands, flags, formats and tools. */
import { formats } from '../catalog/formats.ts';
import { optionSchemas } from '../catalog/options/options.ts';
import { tools } from '../catalog/tools.ts';
import { COMMON_FLAGS, CONVERT_FLAGS, type Fields, flagOf } from './files/arguments.ts';
import { UsageError } from './files/converter.ts';

export const SHELLS = ['bash', 'zsh', 'fish', 'powershell'] as const;
type Shell = (typeof SHELLS)[number];

/** Names in the scripts are made of a-z, 0-9 and - alone: nothing has to be quoted. */
const words = (names: Iterable<string>): string => [...names].join(' ');
const flagsOf = (fields: Fields): string[] => Object.keys(fields).map((name) => `--${flagOf(name)}`);
const common = Object.keys(COMMON_FLAGS).map((name) => `--${name}`);
const convert = [...common, ...Object.keys(CONVERT_FLAGS).map((name) => `--${name}`), ...flagsOf(optionSchemas)];
const callable = tools.filter(({ takesPage }) => takesPage !== true);
const slugs = callable.map(({ slug }) => slug);
const targets = [...formats.keys()];
const toolFlags = callable.map(({ slug, input }) => [slug, words([...common, ...flagsOf(input.shape)])] as const);

/** @param commands all of them @returns the script @throws UsageError */
export function completion([shell = '', ...more]: readonly string[], commands: readonly string[]): string {
  const isShell = (name: string): name is Shell => (SHELLS as readonly string[]).includes(name);
  if (more.length > 0 || !isShell(shell)) throw new UsageError(`name a shell: ${SHELLS.join(', ')}`);
  return { bash, zsh, fish, powershell }[shell](commands);
}

/** The words that may follow, for shells whose functions read `$command`, `$tool` and `$before`. */
const choices = (commands: readonly string[]): string => `
  case "$before" in
    --to|-t|--from) offered='${words(targets)}' ;;
    --out|-o|--password-file|--token-file) offered='' ;;
    *) case "$command" in
      '') offered='${words(commands)}' ;;
      convert) case "$current" in -*) offered='${words(convert)}' ;; esac ;;
      formats) offered='--json --server ${words(targets)}' ;;
      completion) offered='${SHELLS.join(' ')}' ;;
      tool) case "$tool" in
        '') offered='${words(slugs)}' ;;
${toolFlags.map(([slug, flags]) => `        ${slug}) case "$current" in -*) offered='${flags}' ;; esac ;;`).join('\n')}
      esac ;;
    esac ;;
  esac`;

const bash = (commands: readonly string[]): string => `# bash completion of filemill: source <(filemill completion bash)
_filemill() {
  local current="\${COMP_WORDS[COMP_CWORD]}" before="\${COMP_WORDS[COMP_CWORD-1]}" command='' tool='' offered=''
  [ "$COMP_CWORD" -gt 1 ] && command="\${COMP_WORDS[1]}"
  [ "$COMP_CWORD" -gt 2 ] && tool="\${COMP_WORDS[2]}"${choices(commands)}
  COMPREPLY=()
  [ -n "$offered" ] && mapfile -t COMPREPLY < <(compgen -W "$offered" -- "$current")
}
complete -o default -o filenames -F _filemill filemill`;

const zsh = (commands: readonly string[]): string => `#compdef filemill
# zsh completion of filemill: source <(filemill completion zsh), or a file _filemill in a folder of $fpath
_filemill() {
  local current="\${words[CURRENT]}" before="\${words[CURRENT-1]}" command='' tool=''
  (( CURRENT > 2 )) && command="\${words[2]}"
  (( CURRENT > 3 )) && tool="\${words[3]}"
  local offered=''${choices(commands)}
  if [ -n "$offered" ]; then compadd -- \${=offered}; else _files; fi
}
if [ "$funcstack[1]" = _filemill ]; then _filemill "$@"; else compdef _filemill filemill; fi`;

const fish = (commands: readonly string[]): string =>
  [
    '# fish completion of filemill: filemill completion fish | source',
    `complete -c filemill -n __fish_use_subcommand -f -a '${words(commands)}'`,
    ...convert.map((flag) => `complete -c filemill -n '__fish_seen_subcommand_from convert' -l ${flag.slice(2)}`),
    `complete -c filemill -n '__fish_seen_subcommand_from convert' -l to -s t -x -a '${words(targets)}'`,
    `complete -c filemill -n '__fish_seen_subcommand_from formats' -f -a '${words(targets)}'`,
    `complete -c filemill -n '__fish_seen_subcommand_from completion' -f -a '${SHELLS.join(' ')}'`,
    `complete -c filemill -n '__fish_seen_subcommand_from tool; and not __fish_seen_subcommand_from ${words(slugs)}' -f -a '${words(slugs)}'`,
    ...toolFlags.flatMap(([slug, flags]) =>
      flags.split(' ').map((flag) => `complete -c filemill -n '__fish_seen_subcommand_from ${slug}' -l ${flag.slice(2)}`),
    ),
  ].join('\n');

/** PowerShell completes files itself where nothing is offered. */
const powershell = (commands: readonly string[]): string => {
  const list = (names: string): string =>
    names
      .split(' ')
      .filter(Boolean)
      .map((name) => `'${name}'`)
      .join(', ');
  return `# PowerShell completion of filemill: filemill completion powershell | Out-String | Invoke-Expression
Register-ArgumentCompleter -Native -CommandName filemill -ScriptBlock {
  param($wordToComplete, $commandAst, $cursorPosition)
  $words = @($commandAst.CommandElements | ForEach-Object { $_.ToString() })
  if ($wordToComplete -ne '' -and $words.Count -gt 1) { $words = $words[0..($words.Count - 2)] }
  $command = if ($words.Count -gt 1) { $words[1] } else { '' }
  $tool = if ($words.Count -gt 2) { $words[2] } else { '' }
  $tools = @{
${toolFlags.map(([slug, flags]) => `    '${slug}' = @(${list(flags)})`).join('\n')}
  }
  $targets = @(${list(words(targets))})
  $offered = switch ($words[-1]) {
    { $_ -in '--to', '-t', '--from' } { $targets; break }
    { $_ -in '--out', '-o', '--password-file', '--token-file' } { break }
    default {
      switch ($command) {
        '' { ${list(words(commands))} }
        'convert' { if ($wordToComplete -like '-*') { ${list(words(convert))} } }
        'formats' { '--json', '--server'; $targets }
        'completion' { ${list(SHELLS.join(' '))} }
        'tool' { if ($tool -eq '') { $tools.Keys } elseif ($wordToComplete -like '-*') { $tools[$tool] } }
      }
    }
  }
  $offered | Where-Object { $_ -like "$wordToComplete*" } | Sort-Object | ForEach-Object { [System.Management.Automation.CompletionResult]::new($_) }
}`;
};
