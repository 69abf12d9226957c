"""Statistics that a referee accepts: values in, frozen values out. Pure: no rows, no files, no printing, no pydantic.

| module | question | names |
|---|---|---|
| `descriptive` | what does one sample look like? how sure is its mean? | `describe`, `mean_interval` |
| `order` | between which values does the median lie? | `median_interval` |
| `rates` | how often does it succeed? which scenarios are flaky? | `success_rate`, `wilson`, `flaky_scenarios` |
| `pass_k` | does one of k tries succeed? do all? | `pass_at_k`, `pass_hat_k` |
| `agreement` | do repetitions agree, or a judge with itself? | `agreement` |
| `bootstrap` | how sure is any statistic? | `percentile_interval`, `bca_interval`, `expanded_interval` |
| `statistic` | of which statistic? | `MEAN`, `MEDIAN`, `quantile`, `each` |
| `paired` | is head better than base on the same scenarios? | `compare`, `relative_reduction_of_pairs` |
| `mcnemar` | the same for pairs that passed or not | `mcnemar` |
| `effect` | how large is the difference of two independent groups? | `cohens_d`, `cliffs_delta`, `relative_reduction` |
| `permutation` | could that be chance? | `two_sample`, `sign_flips`, `within_strata` |
| `correction` | and for several metrics at once? | `holm` |
| `equivalence` | are two sides surely alike? | `equivalent_pairs`, `equivalent_groups` |
| `bounds` | what could the unscored trials change? | `score_bounds`, `difference_bounds` |
| `sequential` | may one stop repeating? | `look` |
| `gate` | must the build fail? | `decide` |

`base` always comes before `head`, and a difference is head less base. Levels are shares (0.95). What there are too few
values for is None; a value that is not finite is a ValueError: unscored trials are left out by whoever has them, and
counted. Seeds have a default, so that the same rows give the same figures to the digit.

`rates`, `order`, `agreement`, `mcnemar`, `correction`, `bounds`, `student` and `sequential` import in no time; the
others import numpy, so import them where they are needed.
"""
