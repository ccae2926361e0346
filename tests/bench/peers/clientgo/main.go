// Command clientgo-sync does with client-go what Berth's informers do, so that a bench can put the
// two side by side: fill a cache from the API server, or follow a stream of updates.
//
// Every setting is the one a careful author of a Go controller would choose: protobuf for built-in
// kinds, no client-side rate limit, no resync.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/workqueue"
)

// The helpers of client-go ask every 100 ms whether a cache is filled, too coarse for a measurement.
const syncPoll = time.Millisecond

type options struct {
	kubeconfig string
	resource   string
	mode       string
	expect     int
	timeout    time.Duration
}

type syncReport struct {
	Objects   int     `json:"objects"`
	Seconds   float64 `json:"seconds"`
	RSSBefore int64   `json:"rss_before"`
	RSSAfter  int64   `json:"rss_after"`
}

type eventReport struct {
	Events  int     `json:"events"`
	Seconds float64 `json:"seconds"`
	// Processor time of the whole process between "ready" and the last update.
	CPUSeconds float64 `json:"cpu_seconds"`
}

func cpuSeconds() float64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()).Seconds()
}

func main() {
	var o options
	flag.StringVar(&o.kubeconfig, "kubeconfig", os.Getenv("KUBECONFIG"), "path of a kubeconfig")
	flag.StringVar(&o.resource, "resource", "pods", "pods, or group/version/resource")
	flag.StringVar(&o.mode, "mode", "sync", "sync, watch-events or workqueue")
	flag.IntVar(&o.expect, "expect", 0, "watch-events: updates to wait for; workqueue: keys to work on")
	flag.DurationVar(&o.timeout, "timeout", 10*time.Minute, "give up after this time")
	flag.Parse()

	ctx, cancel := context.WithTimeout(context.Background(), o.timeout)
	defer cancel()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "clientgo-sync:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	if o.mode == "workqueue" {
		return printJSON(measureWorkqueue(o.expect))
	}
	if o.mode != "sync" && o.mode != "watch-events" {
		return fmt.Errorf("unknown mode %q", o.mode)
	}
	if o.mode == "watch-events" && o.expect < 1 {
		return errors.New("watch-events needs --expect")
	}
	informer, err := newInformer(o)
	if err != nil {
		return err
	}
	counter := newUpdateCounter(o.expect)
	if o.mode == "watch-events" {
		if _, err := informer.AddEventHandler(counter.handler()); err != nil {
			return err
		}
	}
	report, err := fill(ctx, informer)
	if err != nil {
		return err
	}
	if o.mode == "sync" {
		return printJSON(report)
	}
	before := cpuSeconds()
	fmt.Println("ready")
	events, err := counter.wait(ctx)
	if err != nil {
		return err
	}
	events.CPUSeconds = cpuSeconds() - before
	return printJSON(events)
}

func newInformer(o options) (cache.SharedIndexInformer, error) {
	config, err := clientcmd.BuildConfigFromFlags("", o.kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	if o.resource == "pods" {
		return newPodInformer(config)
	}
	parts := strings.Split(o.resource, "/")
	if len(parts) != 3 {
		return nil, fmt.Errorf("%q is neither pods nor group/version/resource", o.resource)
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	kind := schema.GroupVersionResource{Group: parts[0], Version: parts[1], Resource: parts[2]}
	return dynamicinformer.NewFilteredDynamicInformer(
		client, kind, metav1.NamespaceAll, 0, cache.Indexers{}, nil).Informer(), nil
}

func newPodInformer(config *rest.Config) (cache.SharedIndexInformer, error) {
	config.ContentType = "application/vnd.kubernetes.protobuf"
	config.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return coreinformers.NewPodInformer(client, corev1.NamespaceAll, 0, cache.Indexers{}), nil
}

// fill starts the informer and measures until its cache holds everything the server had.
func fill(ctx context.Context, informer cache.SharedIndexInformer) (syncReport, error) {
	before, err := residentBytes()
	if err != nil {
		return syncReport{}, err
	}
	began := time.Now()
	go informer.Run(ctx.Done())
	for !informer.HasSynced() {
		if ctx.Err() != nil {
			return syncReport{}, errors.New("the cache was not filled in time")
		}
		time.Sleep(syncPoll)
	}
	seconds := time.Since(began).Seconds()
	after, err := residentBytes()
	if err != nil {
		return syncReport{}, err
	}
	return syncReport{len(informer.GetStore().ListKeys()), seconds, before, after}, nil
}

// residentBytes is the resident memory after garbage was collected and returned to the system.
func residentBytes() (int64, error) {
	runtime.GC()
	debug.FreeOSMemory()
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(text))
	if len(fields) < 2 {
		return 0, errors.New("/proc/self/statm has no resident size")
	}
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	return pages * int64(os.Getpagesize()), err
}

// updateCounter notes when the first and the last of the expected updates reached the handler.
type updateCounter struct {
	expect int
	done   chan struct{}

	mu    sync.Mutex
	seen  int
	first time.Time
	last  time.Time
}

func newUpdateCounter(expect int) *updateCounter {
	return &updateCounter{expect: expect, done: make(chan struct{})}
}

func (c *updateCounter) handler() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{UpdateFunc: func(_, _ any) { c.count(time.Now()) }}
}

func (c *updateCounter) count(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.seen == c.expect {
		return
	}
	if c.seen == 0 {
		c.first = now
	}
	c.seen++
	c.last = now
	if c.seen == c.expect {
		close(c.done)
	}
}

func (c *updateCounter) wait(ctx context.Context) (eventReport, error) {
	select {
	case <-c.done:
		return eventReport{Events: c.seen, Seconds: c.last.Sub(c.first).Seconds()}, nil
	case <-ctx.Done():
		c.mu.Lock()
		defer c.mu.Unlock()
		return eventReport{}, fmt.Errorf("saw %d of %d updates in time", c.seen, c.expect)
	}
}

func printJSON(report any) error { return json.NewEncoder(os.Stdout).Encode(report) }

type queueReport struct {
	PerSecond float64 `json:"per_second"`
}

// measureWorkqueue adds, takes and finishes keys on one goroutine, a thousand at a time.
func measureWorkqueue(count int) queueReport {
	const batch = 1000
	queue := workqueue.NewTyped[string]()
	keys := make([]string, batch)
	for i := range keys {
		keys[i] = "games/room-" + strconv.Itoa(i)
	}
	began := time.Now()
	for done := 0; done < count; done += batch {
		for _, key := range keys {
			queue.Add(key)
		}
		for range keys {
			key, _ := queue.Get()
			queue.Done(key)
		}
	}
	return queueReport{PerSecond: float64(count) / time.Since(began).Seconds()}
}
