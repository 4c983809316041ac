"""CPU milliseconds of one loss and gradient of the linear iVAE in torch, the median: n k u rows_per_segment repeats.
Layers and loss as in the paper's appendix E; double precision, one thread."""
import sys
import time

import torch

n, k, u, samples, repeats = map(int, sys.argv[1:])
torch.set_num_threads(1)
torch.set_default_dtype(torch.float64)
rows = u * samples
x = torch.randint(0, 2, (rows, n)).double()
onehot = torch.eye(u)[torch.arange(rows) % u]
both = torch.cat([x, onehot], 1)
eps = torch.randn(rows, k)
prior_mean, prior_log = torch.nn.Linear(u, k), torch.nn.Linear(u, k)
decoder = torch.nn.Linear(k, n, bias=False)
encoder_mean, encoder_log = torch.nn.Linear(n + u, k), torch.nn.Linear(n + u, k)
parameters = [p for m in (prior_mean, prior_log, decoder, encoder_mean, encoder_log) for p in m.parameters()]


def evaluate():
    for p in parameters:
        p.grad = None
    m, l = prior_mean(onehot), prior_log(onehot)
    mean, w = encoder_mean(both), encoder_log(both)
    z = mean + torch.exp(w / 2) * eps
    likelihood = torch.nn.functional.binary_cross_entropy_with_logits(decoder(z), x, reduction="sum")
    divergence = 0.5 * (l + (z - m) ** 2 * torch.exp(-l) - w - eps ** 2).sum()
    loss = (likelihood + divergence) / rows
    loss.backward()
    return loss


times = []
for _ in range(repeats + 2):
    begun = time.process_time()
    evaluate()
    times.append(time.process_time() - begun)
print("%.4f" % (1e3 * sorted(times[2:])[repeats // 2]))
