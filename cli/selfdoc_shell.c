/* selfdoc_shell.c - completions for bash, zsh and fish. */
#include <string.h>

#include "selfdoc.h"

void selfdoc_each_option(FILE *f, const command *c, option_writer write) {
  int count;
  for (int g = 0; g <= MAX_GROUPS; g++) {
    const blica_option *table = option_table(c, g, &count);
    for (int i = 0; i < count; i++) write(f, &table[i]);
  }
}

/* The words that an option knows, with a blank between. */
static void write_words(FILE *f, const blica_option *option) {
  for (const char *word = option->words; word;) {
    fprintf(f, "%.*s%s", (int)strcspn(word, "=|"), word, strchr(word, '|') ? " " : "");
    word = strchr(word, '|');
    if (word) word++;
  }
}

/* What help takes: the commands, and data. */
static void write_topics(FILE *f, const char *between) {
  for (int i = 0; commands[i]; i++) fprintf(f, "%s%s", commands[i]->name, between);
  fputs("data", f);
}

/* ---- bash ---- */

static void bash_flag(FILE *f, const blica_option *option) {
  char flag[FLAG_TEXT];
  fprintf(f, " %s", flag_of(option, flag));
}

static void bash_words(FILE *f, const blica_option *option) {
  char flag[FLAG_TEXT];
  if (!option->words) return;
  fprintf(f, "    %s) words=\"", flag_of(option, flag));
  write_words(f, option);
  fputs("\" ;;\n", f);
}

static void write_bash(FILE *f, const void *what) {
  (void)what;
  fputs("# bash completion for blica\n_blica() {\n  local current=${COMP_WORDS[COMP_CWORD]} "
        "previous=${COMP_WORDS[COMP_CWORD-1]} "
        "words= flags=\n  COMPREPLY=()\n  if [ \"$COMP_CWORD\" -eq 1 ]; then\n    COMPREPLY=($(compgen -W \"",
        f);
  for (int i = 0; commands[i]; i++) fprintf(f, "%s ", commands[i]->name);
  fputs("help --help --version\" -- \"$current\"))\n    return\n  fi\n  case ${COMP_WORDS[1]} in\n  help) words=\"", f);
  write_topics(f, " ");
  fputs("\" ;;\n", f);
  for (int i = 0; commands[i]; i++) {
    fprintf(f, "  %s)\n    flags=\"--help", commands[i]->name);
    selfdoc_each_option(f, commands[i], bash_flag);
    fputs("\"\n", f);
    if (commands[i]->words) fprintf(f, "    [ \"$COMP_CWORD\" -eq 2 ] && words=\"%s\"\n", commands[i]->words());
    fputs("    case $previous in\n", f);
    selfdoc_each_option(f, commands[i], bash_words);
    fputs("    esac ;;\n", f);
  }
  fputs("  esac\n  if [ -n \"$words\" ]; then\n    COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
        "  elif [[ $current == -* ]]; then\n    COMPREPLY=($(compgen -W \"$flags\" -- \"$current\"))\n  fi\n}\n"
        "complete -o default -F _blica blica\n",
        f);
}

int selfdoc_bash(const char *folder) {
  return selfdoc_file(folder, "blica", write_bash, NULL);
}

/* ---- zsh ---- */

/* Inside '...[text]:...': quotes, brackets and colons would end it. */
static void zsh_text(FILE *f, const char *text) {
  for (; *text; text++) {
    if (*text == '\'')
      fputs("'\\''", f);
    else if (strchr("[]:\\", *text))
      fprintf(f, "\\%c", *text);
    else
      putc(*text, f);
  }
}

static void zsh_option(FILE *f, const blica_option *option) {
  char flag[FLAG_TEXT];
  fprintf(f, " \\\n        '%s[", flag_of(option, flag));
  zsh_text(f, option->help);
  putc(']', f);
  if (option->type != BLICA_OPT_FLAG) {
    fprintf(f, ":%s:", option->metavar);
    if (option->words) {
      putc('(', f);
      write_words(f, option);
      putc(')', f);
    } else if (option->type == BLICA_OPT_TEXT) {
      fputs("_files", f);
    }
  }
  putc('\'', f);
}

static void write_zsh(FILE *f, const void *what) {
  (void)what;
  fputs("#compdef blica\n_blica() {\n  local -a commands\n  commands=(\n", f);
  for (int i = 0; commands[i]; i++) {
    fprintf(f, "    '%s:", commands[i]->name);
    zsh_text(f, commands[i]->summary);
    fputs("'\n", f);
  }
  fputs("  )\n  if (( CURRENT == 2 )); then\n    _describe command commands\n    return\n  fi\n"
        "  local name=$words[2]\n  shift words\n  (( CURRENT-- ))\n  case $name in\n    help)\n      compadd ",
        f);
  write_topics(f, " ");
  fputs(" ;;\n", f);
  for (int i = 0; commands[i]; i++) {
    fprintf(f, "    %s)\n      _arguments '--help[what it does]'", commands[i]->name);
    selfdoc_each_option(f, commands[i], zsh_option);
    if (commands[i]->words)
      fprintf(f, " \\\n        '1:name:(%s)' ;;\n", commands[i]->words());
    else
      fputs(" \\\n        '*:file:_files' ;;\n", f);
  }
  fputs("  esac\n}\n_blica \"$@\"\n", f);
}

int selfdoc_zsh(const char *folder) {
  return selfdoc_file(folder, "_blica", write_zsh, NULL);
}

/* ---- fish ---- */

static void fish_text(FILE *f, const char *text) {
  for (; *text; text++) {
    if (*text == '\'' || *text == '\\') putc('\\', f);
    putc(*text, f);
  }
}

static const command *fish_command; /* the one whose options are being written */

static void fish_option(FILE *f, const blica_option *option) {
  char flag[FLAG_TEXT];
  fprintf(f, "complete -c blica -n '__fish_seen_subcommand_from %s' -l %s", fish_command->name,
          flag_of(option, flag) + 2);
  if (option->type != BLICA_OPT_FLAG) fputs(option->type == BLICA_OPT_TEXT ? " -r -F" : " -x", f);
  if (option->words) {
    fputs(" -a '", f);
    write_words(f, option);
    putc('\'', f);
  }
  fputs(" -d '", f);
  fish_text(f, option->help);
  fputs("'\n", f);
}

static void write_fish(FILE *f, const void *what) {
  (void)what;
  fputs("# fish completion for blica\ncomplete -c blica -n '__fish_seen_subcommand_from help' -f -a '", f);
  write_topics(f, " ");
  fputs("'\n", f);
  for (int i = 0; commands[i]; i++) {
    fprintf(f, "complete -c blica -n __fish_use_subcommand -f -a %s -d '", commands[i]->name);
    fish_text(f, commands[i]->summary);
    fputs("'\n", f);
    if (commands[i]->words)
      fprintf(f, "complete -c blica -n '__fish_seen_subcommand_from %s' -f -a '%s'\n", commands[i]->name,
              commands[i]->words());
    fish_command = commands[i];
    selfdoc_each_option(f, commands[i], fish_option);
  }
}

int selfdoc_fish(const char *folder) {
  return selfdoc_file(folder, "blica.fish", write_fish, NULL);
}
