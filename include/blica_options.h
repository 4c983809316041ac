/* blica_options.h - the options of the verbs; blica.h includes it.
 *
 * Make a struct by blica_<verb>_options_default() and change what you want: the function also stores the size, so that
 * a program that was built with an earlier header works with a later library, whose new options then have their
 * defaults. The last part is for programs that set options from text, such as command lines and other languages. */
#ifndef BLICA_OPTIONS_H
#define BLICA_OPTIONS_H

#include "blica.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------ fit */

/* Estimators by their number. A library may have more than these: blica_methods() lists all that it has. */
enum {
  BLICA_METHOD_AUTO = 0, /* matched for samples; blica for exact counts and when a condition is given */
  BLICA_METHOD_BLICA,
  BLICA_METHOD_MATCHED,
  BLICA_METHOD_PAIRWISE,
  BLICA_METHOD_MLE,
  BLICA_METHOD_IVAE,
  BLICA_METHOD_FASTICA
};
typedef struct {
  const char *name, *help;
  int needs_rows; /* counts are not enough */
} blica_method;
BLICA_API const blica_method *blica_methods(int *count); /* the estimators; method m is element m - 1; static */
BLICA_API int blica_method_find(const char *name);       /* its number, 0 for "auto"; -1: no method has that name */
BLICA_API const char *blica_method_name(int method);     /* static text; "unknown" for any other number */

typedef enum { BLICA_THRESHOLDS_ITEMS = 0, BLICA_THRESHOLDS_NONE } blica_thresholds;
/* BLICA_PRIOR_DEFAULT is none for method blica and auto for matched, pairwise and mle. */
typedef enum { BLICA_PRIOR_DEFAULT = 0, BLICA_PRIOR_NONE, BLICA_PRIOR_AUTO, BLICA_PRIOR_FIXED } blica_prior;
typedef enum { BLICA_CONTRAST_LOGCOSH = 0, BLICA_CONTRAST_EXP, BLICA_CONTRAST_CUBE } blica_contrast;
#define BLICA_CONDITION_DEFAULT 0.0 /* 10 for samples, none for exact counts */

struct blica_fit_options {
  size_t size; /* of this struct */
  int method;  /* BLICA_METHOD_*, or blica_method_find("name") */
  int sources; /* k; must be given */
  int starts;
  uint64_t seed;
  double condition;            /* r of the regularisation; infinity for none; BLICA_CONDITION_DEFAULT */
  double link;                 /* c */
  blica_thresholds thresholds; /* items: each item has its own cut; none: all cuts are 0, the paper's model */
  int64_t max_iterations;      /* 0: the method's own */
  double tolerance;            /* relative gradient at which a start has converged; -1: the method's own */
  double max_seconds;          /* whole fit; infinity for no limit */
  blica_prior prior;
  double prior_mixing, prior_variance; /* sd of the elements of A and of log v, with a fixed prior */
  double likelihood_power;             /* factor on the number of rows of each segment in the objective */
  blica_contrast contrast;             /* method fastica */
  const char *checkpoint;              /* file that keeps the state of the fit; NULL: none (see blica_fit) */
  double checkpoint_seconds;           /* between two writes of it */
  int resume;                          /* continue from the checkpoint */
  int allow_unidentified;              /* fit even when no two items vary, instead of failing with BLICA_ERR_DATA */
  const char *free;                    /* items to estimate apart in some segments, or "auto"; NULL: none */
};

/* ------------------------------------------------------------------ the other verbs */

struct blica_simulate_options {
  size_t size;
  int variables, sources, segments;
  int64_t samples; /* per segment; the nominal N when exact */
  uint64_t seed;
  double link;
  double mixing_range; /* A ~ unif(-range, range) */
  double sd_low, sd_high;
  double mean_range; /* mu ~ unif(-range, range) */
  double intercepts; /* cuts ~ N(0, intercepts^2) */
  int levels;        /* of every item, about equally frequent */
  int exact;         /* counts of exact probabilities instead of rows */
};

struct blica_loglik_options {
  size_t size;
  blica_engine engine;
  double error;  /* numerical error of the total to aim for */
  uint64_t seed; /* of the lattice's random shifts */
};

typedef enum { BLICA_SEGMENTS_KNOWN = 0, BLICA_SEGMENTS_UNKNOWN } blica_row_segments;
struct blica_sources_options {
  size_t size;
  blica_row_segments segment; /* unknown: of all rows, whatever their labels */
  int draws;                  /* from the posterior of each row */
  int standardise;   /* sources in units of their standard deviation over all segments of the model, from their mean */
  uint64_t seed;     /* of the draws */
  int64_t first_row; /* number of the first row, for rows that come in pieces: draws depend on seed and number */
};

struct blica_segment_options {
  size_t size;
  int sources;        /* k; must be given */
  int states;         /* 0: chosen by the data, from 1 to max_states */
  int max_states;     /* when chosen */
  int64_t min_length; /* fewest rows before a state may change */
  int change_points;  /* states never return: each is one run of rows */
  int starts;
  uint64_t seed;
  int method;               /* estimator of A, as in blica_fit_options */
  double link, max_seconds; /* as there */
  const char *checkpoint;
  double checkpoint_seconds;
  int resume;
  int64_t split; /* rows of a block; every second block is held out of the search. 0: none, -1: chosen by min_length */
};

struct blica_assess_options {
  size_t size;
  int bootstrap; /* refits of redrawn rows; 0: none, -1: as many as cost little, else at least 20 */
  double level;  /* coverage of the intervals */
  uint64_t seed;
  int block_length; /* adjacent rows that are taken as one unit; 0: by the dependence that they show */
};

struct blica_invariance_options {
  size_t size;
  double level; /* false discovery rate at which an item counts as different */
};

struct blica_select_options {
  size_t size;
  int sources[2]; /* the fewest and the most sources to compare */
  int folds;      /* parts into which the rows of every segment are divided */
  int references; /* data sets of independent items for parallel analysis; at least 20 */
  int method;     /* as in blica_fit_options */
  uint64_t seed;
};

/* ------------------------------------------------------------------ tables and defaults */

typedef enum {
  BLICA_OPT_INT,    /* an int or an int64_t, by its size */
  BLICA_OPT_REAL,   /* a double */
  BLICA_OPT_TEXT,   /* a const char *, which borrows what it was set to */
  BLICA_OPT_FLAG,   /* an int, 0 or 1 */
  BLICA_OPT_SEED,   /* a uint64_t */
  BLICA_OPT_CHOICE, /* an int or an enum: one of the words */
  BLICA_OPT_RANGE   /* two ints, LOW:HIGH */
} blica_option_type;

/* One row per option: the source of validation, command-line flags, help, man pages, Python and R arguments and
 * docs/options.md. */
typedef struct {
  const char *name; /* as in max_seconds; the flag is --max-seconds */
  blica_option_type type;
  size_t offset, size; /* of the field in the options struct */
  const char *initial; /* default, as text; NULL: must be given (or, for text, stays NULL) */
  double low, high;    /* closed range of numbers */
  const char *words;   /* numbers: "default=0|none=inf" spells special values; choices: "a|b" for 0, 1, or "a=4|b=7" */
  const char *metavar; /* placeholder of the value in help */
  const char *help;    /* one or two sentences */
  const char *needs;   /* where it has an effect: "method=auto|mle", with these values of another option of the table;
                          "checkpoint", when that option is given. NULL: always */
} blica_option;

/* Three functions for each verb: its table of options, defaults for a struct of a given size, and a struct of
 * defaults. */
#define BLICA_OPTIONS(verb)                                                                                            \
  BLICA_API const blica_option *blica_##verb##_option_table(int *count);                                               \
  BLICA_API void blica_##verb##_options_init(blica_##verb##_options *options, size_t size);                            \
  static inline blica_##verb##_options blica_##verb##_options_default(void) {                                          \
    blica_##verb##_options options;                                                                                    \
    blica_##verb##_options_init(&options, sizeof options);                                                             \
    return options;                                                                                                    \
  }
BLICA_OPTIONS(fit)
BLICA_OPTIONS(simulate)
BLICA_OPTIONS(loglik)
BLICA_OPTIONS(sources)
BLICA_OPTIONS(segment)
BLICA_OPTIONS(assess)
BLICA_OPTIONS(invariance)
BLICA_OPTIONS(select)

/* Sets one option from text, with validation. options is the struct that the table describes. */
BLICA_API blica_status blica_option_set(blica_ctx *ctx, const blica_option *option, void *options, const char *text);
/* Checks a whole struct of options, as every verb does: each value is one that blica_option_set accepts, and a value
 * other than the default has an effect beside the other values (needs). An option at its default is always accepted. */
BLICA_API blica_status blica_options_check(blica_ctx *ctx, const blica_option *table, int count, const void *options);

#ifdef __cplusplus
}
#endif
#endif /* BLICA_OPTIONS_H */
